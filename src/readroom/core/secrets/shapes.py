"""The shapes of secrets that are not those of the library detect-secrets, and the names of all kinds.

Each kind has a letter, which is a part of the sign that stands for a secret (`view`).
"""

from __future__ import annotations

import re

KEYWORD = "password or key"
PRIVATE_KEY = "private key"

LETTERS = {
    "AWS key": "A",
    "Azure storage key": "B",
    "Discord token": "C",
    "GitHub token": "D",
    "GitLab token": "E",
    "IBM key": "F",
    "JSON web token": "G",
    "Mailchimp key": "H",
    "npm token": "I",
    "OpenAI key": "J",
    PRIVATE_KEY: "K",
    "PyPI token": "L",
    "SendGrid key": "M",
    "Slack token": "N",
    "Square secret": "O",
    "Stripe key": "P",
    "Telegram token": "Q",
    "Twilio key": "R",
    "Artifactory key": "S",
    "password in an address": "T",
    KEYWORD: "U",
    "Google key": "V",
    "Anthropic key": "W",
    "token": "X",
    "bearer token": "Y",
}
"""The letter of each kind."""

KINDS = {letter: kind for kind, letter in LETTERS.items()}

LIBRARY = {
    "AWSKeyDetector": "AWS key",
    "AzureStorageKeyDetector": "Azure storage key",
    "BasicAuthDetector": "password in an address",
    "DiscordBotTokenDetector": "Discord token",
    "GitHubTokenDetector": "GitHub token",
    "GitLabTokenDetector": "GitLab token",
    "IbmCloudIamDetector": "IBM key",
    "IbmCosHmacDetector": "IBM key",
    "JwtTokenDetector": "JSON web token",
    "MailchimpDetector": "Mailchimp key",
    "NpmDetector": "npm token",
    "OpenAIDetector": "OpenAI key",
    "PypiTokenDetector": "PyPI token",
    "SendGridDetector": "SendGrid key",
    "SlackDetector": "Slack token",
    "SquareOAuthDetector": "Square secret",
    "StripeDetector": "Stripe key",
    "TelegramBotTokenDetector": "Telegram token",
    "TwilioKeyDetector": "Twilio key",
    "ArtifactoryDetector": "Artifactory key",
}
"""The kind of each detector of the library that is asked.

Those that go by entropy alone are left out: hashes and minified code are no secrets.  Private keys have their
own rule, because their text is in the lines below the one that the library reports.
"""

_WORD = r"(?<![A-Za-z0-9])"

OWN: tuple[tuple[str, str, str], ...] = (
    (
        "AWS key",
        r"(?i:aws_?(?:secret_?)?(?:access_?)?key|secret_?access_?key)[\w\"'\]]{0,20}\s{0,8}(?:"
        r"=>|:=|[:=])\s{0,8}[\"']?([0-9a-zA-Z/+]{40})(?![0-9a-zA-Z/+=])",
        r"(?i)aws|secret_?access",
    ),
    (
        "AWS key",
        r"(?:AKIA|ASIA)[0-9A-Z]{16}[^0-9A-Za-z/+].{0,40}?(?<![0-9a-zA-Z/+])([0-9a-zA-Z/+]{40})"
        r"(?![0-9a-zA-Z/+=])",
        r"AKIA|ASIA",
    ),
    (
        "PyPI token",
        r"(pypi-[A-Za-z0-9_\-]{70,1024})",
        r"pypi-",
    ),
    (
        "GitHub token",
        _WORD + r"(github_pat_[A-Za-z0-9_]{22,255})",
        r"github_pat_",
    ),
    (
        "GitLab token",
        _WORD + r"(gl(?:pat|dt|ft|soat|rt|rtr|cbt|imt|ptt|agent|oas)-[A-Za-z0-9_.\-]{20,255})",
        r"gl[a-z]{2,5}-",
    ),
    (
        "Google key",
        _WORD + r"(AIza[0-9A-Za-z_\-]{35})(?![0-9A-Za-z_\-])",
        r"AIza",
    ),
    (
        "Google key",
        _WORD + r"(ya29\.[0-9A-Za-z_\-]{20,1024})",
        r"ya29\.",
    ),
    (
        "Google key",
        _WORD + r"(GOCSPX-[0-9A-Za-z_\-]{28})",
        r"GOCSPX-",
    ),
    (
        "Anthropic key",
        _WORD + r"(sk-ant-[A-Za-z0-9_\-]{20,255})",
        r"sk-ant-",
    ),
    (
        "OpenAI key",
        _WORD + r"(sk-(?:proj|svcacct|admin)-[A-Za-z0-9_\-]{20,255})",
        r"sk-(?:proj|svcacct|admin)-",
    ),
    (
        "OpenAI key",
        _WORD + r"(sk-(?=[a-zA-Z0-9]*[0-9])[A-Za-z0-9]{48})(?![A-Za-z0-9])",
        r"sk-[A-Za-z0-9]{48}",
    ),
    (
        "Stripe key",
        _WORD + r"((?:sk|rk)_(?:live|test)_[0-9a-zA-Z]{16,255}|whsec_[0-9a-zA-Z+/=]{24,255})",
        r"[rs]k_(?:live|test)_|whsec_",
    ),
    (
        "Slack token",
        _WORD + r"(xox[abceoprs]-[0-9A-Za-z\-]{10,255}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[0-9a-f]{32,128})",
        r"xox[abceoprs]-|xapp-",
    ),
    (
        "npm token",
        _WORD + r"(npm_[A-Za-z0-9]{36})(?![A-Za-z0-9])",
        r"npm_",
    ),
    (
        "Telegram token",
        r"(?<![0-9A-Za-z_])((?=[^:]*:.*?[a-z])(?=[^:]*:.*?[A-Z])[0-9]{8,10}:[0-9A-Za-z_\-]{35}"
        r")(?![0-9A-Za-z_\-])",
        r"[0-9]{8,10}:[0-9A-Za-z_-]{35}",
    ),
    (
        "SendGrid key",
        _WORD + r"(SG\.[A-Za-z0-9_\-]{16,64}\.[A-Za-z0-9_\-]{16,64})",
        r"SG\.",
    ),
    (
        "JSON web token",
        _WORD + r"(ey[A-Za-z0-9_\-]{15,4096}\.ey[A-Za-z0-9_\-]{10,8192}\.[A-Za-z0-9_\-]{10,4096})",
        r"ey[A-Za-z0-9_-]{15}",
    ),
    (
        "token",
        _WORD + r"(hf_[A-Za-z]{34}|dop_v1_[0-9a-f]{64}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|hvs\.[A-Za-z"
        r"0-9_\-]{24,255}|dapi[0-9a-f]{32}|dckr_pat_[A-Za-z0-9_\-]{27}|glsa_[A-Za-z0-9]{32}_[0"
        r"-9a-f]{8}|lin_api_[A-Za-z0-9]{40}|NRAK-[A-Z0-9]{27}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|r"
        r"ubygems_[0-9a-f]{48}|pul-[0-9a-f]{40}|sbp_[0-9a-f]{40}|AGE-SECRET-KEY-1[02-9AC-HJ-NP"
        r"-Z]{58}|ATATT3[A-Za-z0-9_\-=]{180,255}|crates-io-[A-Za-z0-9]{32}|cio[A-Za-z0-9]{32})"
        r"(?![A-Za-z0-9])",
        r"hf_|dop_v1_|shp(?:at|ca|pa|ss)_|hvs\.|dapi[0-9a-f]{32}|dckr_pat_|glsa_|lin_api_|NRAK"
        r"-|PMAK-|rubygems_|pul-[0-9a-f]|sbp_|AGE-SECRET|ATATT3|crates-io-|cio[A-Za-z0-9]{32}",
    ),
    (
        "bearer token",
        r"(?i:authorization[\"']?\s*[:=,]\s*[\"'`]?(?:bearer|basic|token)\s+)((?=[^\s\"']*[0-9"
        r"])[A-Za-z0-9_\-.~+/=]{16,4096})",
        r"(?i)authorization",
    ),
    (
        "password or key",
        r"(?:\"auth\"\s*:\s*\")([A-Za-z0-9+/]{12,1024}={0,2})\"",
        r'"auth"',
    ),
    (
        "password or key",
        r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S+)",
        r"machine",
    ),
    (
        "Azure storage key",
        r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,100}={0,2})",
        r"(?:Account|Access)Key=",
    ),
)
"""Published formats that the library does not know, or of which it reports a part: the kind, the secret as a
group of a regex, and a pattern of RE2 that each line with one matches."""

BEGINS = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[0-9]")
BEGINS_WORD = (b"PRIVATE KEY", b"PuTTY-User-Key")
ENDS = re.compile(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: ?")
