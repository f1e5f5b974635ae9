"""The shapes of secrets that are not those of the library detect-secrets, and the names of all kinds.

Each kind has a letter, which is a part of the sign that stands for a secret (`view`).
"""

from __future__ import annotations

import re

KEYWORD = "password or key"
NAMES = (
    r"(?:api|auth|service|account|db|database|priv|private|client)_?key"
    r"|(?:db|database|key)_?pass|password|passwd|pwd|secret|contrase"
)
"""Names of settings whose values are secrets: those of the library."""

_MORE_NAMES = rf"{NAMES}|token|passphrase"
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

NAMED: tuple[tuple[str, str], ...] = (
    (  # one that ends in such a word, in settings and code; the library takes other words there
        r"(?:(?i:token|passphrase)|(?i:(?<![a-z])pass))[\"'\]]{0,2}\s{0,8}(?::=|=>|[:=])\s{0,8}"
        r"[\"'`]((?=[^\s\"'`]*[0-9])(?=[^\s\"'`]*[A-Za-z])[^\s\"'`]{8,4096})[\"'`]",
        r"(?i:token|passphrase|pass)[\"'\]]{0,2}\s{0,8}(?::=|=>|[:=])\s{0,8}[\"'`]",
    ),
    (  # one that begins with a sign, as a sixty-fourth of base64 does; the library takes none of them
        rf"(?i:{_MORE_NAMES})\w{{0,40}}[\"'\]]{{0,2}}\s{{0,8}}(?::=|=>|[:=])\s{{0,8}}[\"'`]"
        r"((?=[^\s\"'`]*[0-9])(?=[^\s\"'`]*[A-Za-z])"
        r"(?:[+!?^][^\s\"'`]{7,4096}|/[A-Za-z0-9+/]{22,4096}={1,2}))[\"'`]",
        rf"(?i:{_MORE_NAMES})\w*[\"'\]]{{0,2}}\s{{0,8}}(?::=|=>|[:=])\s{{0,8}}[\"'`][+!?^/]",
    ),
    (
        r"(?i:(?<![a-z])pass)\s{0,8}[:=]\s{0,8}((?=[^\s]*[0-9])[^\s\"'`,;(){}\[\]<>|&\\$:=]{6,512})\s*\Z",
        r"(?i:pass)\s{0,8}[:=]\s{0,8}[^\s\"'`,;(){}\[\]<>|&\\$:=]*[0-9]",
    ),
    (
        rf"<([\w.:-]{{0,64}}(?i:{_MORE_NAMES}))>\s{{0,40}}([^<>\s${{}}%]{{6,512}})\s{{0,40}}</",
        rf"(?i:{_MORE_NAMES})>",
    ),
    (
        rf"(?:name|key)=[\"'][\w.:-]{{0,64}}(?i:{_MORE_NAMES})[\"']\s{{1,40}}value=[\"']([^\"'\s]{{6,512}})[\"']",
        rf"(?i:{_MORE_NAMES})[\"']\s{{1,40}}value=[\"']",
    ),
    (
        rf"\b(?:define|put|set\w{{0,40}})\(\s{{0,8}}[\"'][\w.:-]{{0,64}}(?i:{_MORE_NAMES})[\"']\s{{0,8}},\s{{0,8}}"
        r"[\"']((?=[^\"'\s]*[0-9])[^\"'\s]{6,512})[\"']",
        rf"(?i:{_MORE_NAMES})[\"']\s{{0,8}},\s{{0,8}}[\"']",
    ),
    (
        r"(?i:\bidentified\s+(?:with\s+\S{1,40}\s+)?by|\bpassword)\s{1,8}[\"']([^\"'\s]{6,512})[\"']",
        r"(?i:identified\s|password\s{1,8}[\"'])",
    ),
    (
        rf"\A\s{{0,8}}(?:ENV|ARG)\s+\w{{0,64}}(?i:{_MORE_NAMES})\w{{0,40}}\s+[\"']?([^\s\"'$]{{6,512}})",
        rf"(?:ENV|ARG)\s+\w*(?i:{_MORE_NAMES})",
    ),
    (
        r"(?i:\b(?:api|auth|access)-(?:key|token))[\"']?\s{0,8}[:=]\s{0,8}[\"']?"
        r"((?=[^\s\"']*[0-9])[A-Za-z0-9_\-.~+/=]{12,4096})",
        r"(?i:api|auth|access)-(?i:key|token)[\"']?\s{0,8}[:=]",
    ),
)
"""Values that are secrets by the name before them, if they look like one: the value as the last group of a
regex, and a pattern of RE2 that each line with one matches."""

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
        r"sk-[A-Za-z0-9]{12}",
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
        r"\d:[0-9A-Za-z_-]{20}",
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
        r"hf_|dop_v1_|shp(?:at|ca|pa|ss)_|hvs\.|dapi[0-9a-f]{8}|dckr_pat_|glsa_|lin_api_|NRAK"
        r"-|PMAK-|rubygems_|pul-[0-9a-f]|sbp_|AGE-SECRET|ATATT3|crates-io-|cio[A-Za-z0-9]{12}",
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
    (  # .netrc, in one line or several
        KEYWORD,
        r"\blogin\s+\S+\s+(?:account\s+\S+\s+)?password\s+(\S+)"
        r"|\A\s{0,40}password\s+((?=[^\s0-9]*[0-9])[^\s\"'`(){}<>$%:=,;]{6,512})\s*\Z",
        r"login\s[^\n]*password\s|(?m:^[ \t]{0,40}password\s)",
    ),
    (  # auth.json of composer, whose names are hosts
        "token",
        r"\"(?:[\w-]{1,40}\.){0,4}(?:github|gitlab|bitbucket|packagist)[\w-]{0,40}\.[a-z]{2,10}\"\s{0,8}:\s{0,8}"
        r"\"((?=[^\"]*[0-9])(?=[^\"]*[A-Za-z])[\w-]{20,255})\"",
        r"(?:github|gitlab|bitbucket|packagist)[\w-]*\.[a-z]+\"\s{0,8}:",
    ),
    (  # .npmrc
        KEYWORD,
        r"(?:\A|[\s:])_auth\s*=\s*[\"']?([A-Za-z0-9+/]{6,4096}={0,2})",
        r"_auth",
    ),
    (  # .pgpass
        KEYWORD,
        r"\A(?:[\w.*-]{1,255}|\[[0-9a-fA-F:]{2,45}\]):(?:[0-9]{4,5}|\*):[\w.*-]{1,64}:[\w.*-]{1,64}"
        r":((?=\S*[^0-9])[^\s/]\S{5,511})\s*\Z",
        r":(?:[0-9]{4,5}|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:",
    ),
    (  # shadow, htpasswd
        KEYWORD,
        r"\A[\w.@-]{1,64}:(\$(?:apr1|[156y]|2[abxy])\$[^\s:]{20,512})",
        r":\$(?:apr1|[156y]|2[abxy])\$",
    ),
    (  # arguments of curl, mysql and sshpass
        KEYWORD,
        r"\bcurl\b.{0,512}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'/$]{1,64}:([^\s\"'@$<{]{4,512})"
        r"|\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^|;\n]{0,512}?\s-p([^\s\"'$<{-][^\s\"']{3,511})"
        r"|\bsshpass\s+-p\s{0,8}[\"']?([^\s\"'$<{]{4,512})",
        r"curl\s|mysql|mariadb|sshpass",
    ),
    (  # WireGuard
        KEYWORD,
        r"(?i:\b(?:preshared|private)_?key)\s{0,8}=\s{0,8}[\"']?([A-Za-z0-9+/]{43}=)",
        r"(?i:shared|private)_?(?i:key)\s{0,8}=",
    ),
    (  # the text of a private key, as a whole in base64, but none of a certificate or a public key
        PRIVATE_KEY,
        r"(?<![A-Za-z0-9+/])(LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM|BUUlVT|BYNTA5)[A-Za-z0-9+/]{20,16384}={0,2})",
        r"LS0tLS1CRUdJTi",
    ),
    (
        "token",
        r"(?i:token)[\"']?\W{1,8}(s\.(?=[A-Za-z]*[0-9])[A-Za-z0-9]{24})(?![A-Za-z0-9])",
        r"(?i:token)[\"']?\W{1,8}s\.[A-Za-z0-9]",
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
