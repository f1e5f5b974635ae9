"""Manifests of Kubernetes whose kind is Secret, and files that programs keep their keys in."""

from __future__ import annotations

import base64
import json

import pytest

from readroom.core.secrets.view import SIGN, masked


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


USER, WORD = coded("admin"), coded("correct horse battery staple")
YAML = f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  user: {USER}\n  word: '{WORD}' # old\n"
LAST = f"apiVersion: v1\ndata:\n    user: {USER}\n    word: {WORD}\nkind: Secret\n"
LIST = (
    f"items:\n- apiVersion: v1\n  data:\n    user: {USER}\n    word: {WORD}\n  kind: Secret\n"
    "- apiVersion: v1\n  data:\n    open: kept-as-it-is\n  kind: ConfigMap\n"
)
FLOW = f"kind: Secret\ndata: {{user: {USER}, word: '{WORD}'}}\n"
BLOCK = (
    f"kind: Secret\nstringData:\n  user: |\n    {USER}\n\n    {WORD}\n  more: |-\n    {WORD}\ntype: Opaque\n"
)
OBJECT = {"kind": "Secret", "data": {"user": USER, "word": WORD}, "type": "Opaque"}
WITHIN = json.dumps({"metadata": {"annotations": {"last": json.dumps(OBJECT)}}, "kind": "Secret"})


@pytest.mark.parametrize(
    "text",
    [
        YAML,
        YAML.replace("\n", "\r\n"),
        LAST,
        LIST,
        FLOW,
        BLOCK,
        json.dumps(OBJECT),
        json.dumps(OBJECT, indent=2),
        WITHIN,
        f"a: b\n---\n{YAML}---\na: b\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-be"])
def test_every_value_of_a_secret_is_one(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    made = masked(data)
    assert len(made) == len(data)
    shown = made.decode(encoding)
    assert USER not in shown
    assert WORD not in shown
    for kept in ("kind", "Secret", "user", "Opaque", "kept-as-it-is", "name: db", "# old"):
        assert (kept in shown) is (kept in text)


@pytest.mark.parametrize(
    "text",
    [
        f"kind: ConfigMap\ndata:\n  user: {USER}\n",
        f"kind: Secret\n---\nkind: ConfigMap\ndata:\n  user: {USER}\n",
        f"kind: SecretStore\ndata:\n  user: {USER}\n",
        "kind: Secret\ndata:\n  user: {{ .Values.user }}\n  word: ${WORD}\n",
        "kind: Secret\ndata:\n",
        "kind: Secret",
    ],
)
def test_other_manifests_are_left_alone(text: str) -> None:
    assert masked(text.encode()) == text.encode()


LINES = {
    "npm": "//registry.npmjs.org/:_authToken=aB3dE6gH9jK2mN5pQ8sT",
    "npm, old": "_auth = Ym9iOmFCM2RFNmdIOWpLMm1O",
    "netrc": "machine x.org login bob password correcthorse",
    "netrc, by lines": "  password aB3dE6gH9jK2",
    "pgpass": "localhost:5432:shop:bob:aB3dE6gH9jK2",
    "docker": '"auth": "Ym9iOmFCM2RFNmdIOWpLMm1O"',
    "docker, token": '"identitytoken": "aB3dE6gH9jK2mN5pQ8sT"',
    "htpasswd": "bob:$apr1$abcdefgh$aB3dE6gH9jK2mN5pQ8sTvX",
    "XML": "<password>aB3dE6gH9jK2</password>",
    "property": '<property name="db.password" value="aB3dE6gH9jK2"/>',
    "PHP": "define('DB_PASSWORD', 'aB3dE6gH9jK2');",
    "SQL": "CREATE USER bob IDENTIFIED BY 'aB3dE6gH9jK2';",
    "Ansible": "ansible_ssh_pass: aB3dE6gH9jK2",
    "curl": "curl -u bob:aB3dE6gH9jK2 https://example.org",
    "header": "X-API-Key: aB3dE6gH9jK2mN5p",
    "mysql": "mysql -u root -paB3dE6gH9jK2 shop",
    "sshpass": "sshpass -p aB3dE6gH9jK2 ssh host",
    "WireGuard": "PresharedKey = aB3dE6gH9jK2mN5pQ8sTvXyZ1bC4eF7hI0kL3nO6qR8=",
    "Dockerfile": "ENV API_TOKEN aB3dE6gH9jK2",
    "connection": "Server=x;Database=y;Password=aB3dE6gH9jK2;",
    "kubeconfig": "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF",
    "log": "connected with password=aB3dE6gH9jK2, user bob",
}


@pytest.mark.parametrize("name", LINES)
def test_files_of_programs_have_their_secrets_masked(name: str) -> None:
    line = LINES[name].encode()
    made = masked(line)
    assert len(made) == len(line)
    (sign,) = SIGN.finditer(made)
    assert sign.end() - sign.start() >= 12
    assert b"aB3dE6gH9jK2" not in made


@pytest.mark.parametrize(
    "line",
    [
        "certificate: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUU",
        "Enter your password now",
        "bypass: aB3dE6gH9jK2",
        "a.py:12:5:error:unexpected",
        "curl -u name https://example.org",
        "no_secrets: T::Boolean",
        '"password_expires_at": "2016-11-06T15:32:17"',
    ],
)
def test_what_only_speaks_of_one_is_shown(line: str) -> None:
    assert masked(line.encode()) == line.encode()
