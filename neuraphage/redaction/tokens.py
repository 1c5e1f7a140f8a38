"""Secrets that are known by how they begin: what services hand out. Facts about their formats, one line each.

A token begins where no letter or digit stands before it that is not the end of an escape (see `beginnings`), and is
taken to its end. A dash may stand before it, as in `--header=X-ghp_...`; `_` may where letters and digits alternate in
the token, so that it is no name of code. So that no run of characters is scanned again and again, each body either
matches as long as there is enough of it, or is bounded.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from neuraphage.redaction.beginnings import BEGINNING, beginning
from neuraphage.redaction.patterns import Pattern, Regex, anything, looks_random, turns

_HEX = r"[0-9a-f]"
_WORD = r"[A-Za-z0-9]"
_WORDS_OF_A_NAME = re.compile(r"[A-Z][a-z]+|[a-z]+|[A-Z]+(?![a-z])|\d+")


def _random_key(match: re.Match[str]) -> bool:
    """Tell `sk-` keys from dashed words, which have no upper case or no digit."""
    key = match[0][:256]
    return key.lower().startswith("sk-ant-") or (looks_random(key) and sum(c.isdigit() for c in key) >= 2)


def _random_token(match: re.Match[str]) -> bool:
    return looks_random(match[0][:256])


def _old_vault(match: re.Match[str]) -> bool:
    """Tell what Vault gave out before 1.10 from an attribute of something that is called `s`, which is made of words.

    Taken apart into words, 24 random characters make about 11, and names of that length hardly ever more than 8.
    """
    return len(_WORDS_OF_A_NAME.findall(match[0][2:26])) >= 9


def _encoded_key(match: re.Match[str]) -> bool:
    """Tell a private key in base64, as Kubernetes keeps it, from a certificate."""
    return b"PRIVATE KEY" in base64.b64decode(match[0][:52])


def _no_name(match: re.Match[str]) -> bool:
    """Whether what stands behind `_` is made by a generator: a name of code hardly ever changes between letters and
    digits three times without a `_` in between."""
    return match["joined"] is None or turns(match[0][:256]) >= 3


def _token(kind: str, body: str, *needles: str, accept: Callable[[re.Match[str]], bool] = anything) -> Pattern:
    """A token with a beginning of its own, which is known behind `_` too."""
    regex = Regex(rf"(?:{BEGINNING}|(?P<joined>(?<=_))){body}", re.ASCII)
    return Pattern(kind, needles, regex, lambda match: accept(match) and _no_name(match))


def _apart(kind: str, body: str, *needles: str, accept: Callable[[re.Match[str]], bool] = anything) -> Pattern:
    """A token of which the beginning is as well a part of a name: it is not known behind `_`."""
    return Pattern(kind, needles, Regex(rf"{BEGINNING}{body}", re.ASCII), accept)


def _fixed(kind: str, body: str, *needles: str) -> Pattern:
    """A token of a fixed length and alphabet, which no name has: it is known behind `_`, whatever is in it."""
    return Pattern(kind, needles, Regex(rf"(?:{BEGINNING}|(?<=_)){body}(?!\w)", re.ASCII))


def _found(kind: str, first: str, rest: str, *needles: str) -> Pattern:
    """A token that is told by what stands in it: the whole text is searched, if it holds a needle.

    What it begins with comes first in the expression, too: `re` then skips all that cannot begin one, which it does
    not when a look at what stands before comes first.
    """
    regex = Regex(rf"{first}{beginning(_WORD, first)}{rest}", re.ASCII)
    return Pattern(kind, needles, regex, is_searched=True)


# Three digits in base64: the first part of a Discord token is a number, which no name looks like.
_AFTER_MNO = "[DTjz][AEIMQUYcgk][w-z0-5]"


TOKENS: tuple[Pattern, ...] = (
    # models
    _token("api_key", r"sk-[\w-]{20,}+", "sk-", accept=_random_key),
    _token("api_key", r"gsk_\w{40,}+", "gsk_"),
    _token("api_key", r"xai-[\w-]{60,}+", "xai-"),
    _token("api_key", r"pplx-[\w-]{40,}+", "pplx-"),
    _token("api_key", r"r8_\w{37,}+", "r8_"),
    _token("api_key", r"lsv2_(?:pt|sk)_\w{32,}+", "lsv2_"),
    _apart("huggingface_token", r"(?:hf_|api_org_)\w{30,}+", "hf_", "api_org_", accept=_random_token),
    _fixed("huggingface_token", rf"(?:hf_|api_org_){_WORD}{{34}}", "hf_", "api_org_"),
    # code and packages
    _token("github_token", r"gh[pousr]_[\w-]{36,}+", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("github_token", r"github_pat_[\w-]{22,}+", "github_pat_"),
    _token("gitlab_token", r"GR1348941[\w-]{20,}+", "gr1348941"),
    _token("gitlab_token", r"gl[a-z]{2,6}-[\w-]{20,}+(?:\.[0-9a-z]{9}(?!\w))?", *(f"gl{k}-" for k in (
        "pat", "dt", "rt", "cbt", "ptt", "ft", "soat", "agent", "imt", "oas", "ffct", "wt",
    ))),
    _fixed("npm_token", rf"npm_{_WORD}{{36}}", "npm_"),
    _token("pypi_token", r"pypi-[\w-]{40,}+", "pypi-", accept=_random_token),
    _fixed("cargo_token", rf"cio{_WORD}{{32}}", "cio"),
    _fixed("rubygems_token", rf"rubygems_{_HEX}{{48}}", "rubygems_"),
    _fixed("nuget_key", r"oy2[a-z0-9]{43}", "oy2"),
    _token("docker_token", r"dckr_[op]at_[\w-]{27,}+", "dckr_"),
    _fixed("postman_key", rf"PMAK-{_HEX}{{24}}-{_HEX}{{34}}", "pmak-"),
    _token("sourcegraph_token", r"sgp_\w{40,}+", "sgp_"),
    _fixed("artifactory_key", rf"(?:AKCp{_WORD}{{69}}|cmVmd{_WORD}{{59}})", "akcp", "cmvmd"),
    _fixed("octopus_key", r"API-[A-Z0-9]{26}", "api-"),
    _token("sonar_token", r"sq[uap]_[0-9a-f]{40}(?!\w)", "squ_", "sqa_", "sqp_"),
    _fixed("clojars_token", r"CLOJARS_[0-9a-f]{60}", "clojars_"),
    _token("atlassian_token", r"AT(?:ATT|CTT|BBT)3[\w-]{30,}+(?:=[0-9A-F]{8}(?!\w)|={0,2})",
        "atatt3", "atctt3", "atbbt3"),
    _token("buildkite_token", rf"bk(?:ua|cr|ct|aa)_{_HEX}{{40,}}+", "bkua_", "bkcr_", "bkct_", "bkaa_"),
    _token("circleci_token", rf"CCI(?:PAT|PRJ)_{_WORD}{{20,24}}_{_HEX}{{40,}}+", "ccipat_", "cciprj_"),
    _fixed("launchdarkly_key", rf"(?:sdk|api)-{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}", "sdk-", "api-"),
    _token("private_key", r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,}+={0,2}", "ls0tls1crudjti", accept=_encoded_key),
    # clouds
    _token("google_code", r"4/0A[\w-]{30,}+", "4/0a"),
    _token("firebase_key", r"AAAA[\w-]{7}:APA91b[\w-]{100,}+", "aaaa"),
    _token("mapbox_token", r"[st]k\.eyJ[\w-]{20,}+\.[\w-]{16,}+", "sk.eyj", "tk.eyj"),
    _fixed("aws_key_id", r"A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}", "akia", "asia", "abia", "acca"),
    _token("aws_bedrock_key", r"ABSK[A-Za-z0-9+/]{100,}+={0,2}", "absk"),
    _token("google_key", r"AIza[\w-]{35,}+", "aiza"),
    _token("google_token", r"ya29\.[\w-]{20,}+", "ya29."),
    _token("google_secret", r"GOCSPX-[\w-]{20,}+", "gocspx-"),
    _token("google_token", r"1//0[\w-]{40,}+", "1//0"),
    _fixed("digitalocean_token", rf"do[opr]_v1_{_HEX}{{64}}", "doo_v1_", "dop_v1_", "dor_v1_"),
    Pattern("azure_secret", ("q~",), Regex(  # told by `8Q~` and its length, whatever stands before it
        r"[\w~.]{3}\dQ~[\w~.-]{30,39}[\w~-](?![\w~-])", re.ASCII), is_searched=True),
    _fixed("alibaba_key_id", rf"LTAI{_WORD}{{12,20}}", "ltai"),
    _token("vault_token", r"hv[sbr]\.[\w-]{24,}+", "hvs.", "hvb.", "hvr."),
    _apart("vault_token", rf"s\.{_WORD}{{24}}(?:\.{_WORD}{{5}})?(?!\w)", "s.", accept=_old_vault),
    _found("terraform_token", _WORD, rf"{_WORD}{{13}}\.atlasv1\.[\w-]{{60,}}+", ".atlasv1."),
    _fixed("pulumi_token", rf"pul-{_HEX}{{40}}", "pul-"),
    _apart("doppler_token", rf"dp\.[a-z]{{2,6}}\.(?:[\w-]{{1,64}}\.)?{_WORD}{{40,}}+", "dp."),
    _token("tailscale_key", r"tskey-[a-z]{3,10}-[\w-]{16,}+", "tskey-"),
    _token("planetscale_token", r"pscale_[a-z]{2,5}_[\w-]{32,}+", "pscale_"),
    _token("supabase_key", r"sb(?:p|_secret)_\w{30,}+", "sbp_", "sb_secret_"),
    _fixed("databricks_token", rf"dapi{_HEX}{{32}}(?:-\d)?", "dapi"),
    _token("fly_token", r"(?:fm[12]|fo1)_[\w/+-]{40,}+={0,2}", "fm1_", "fm2_", "fo1_"),
    _token("heroku_key", r"HRKU-[\w-]{36,}+", "hrku-"),
    _token("openshift_token", r"sha256~[\w-]{43,}+", "sha256~"),
    _token("dynatrace_token", rf"dt0[a-z]\d\d\.{_WORD}{{24}}\.{_WORD}{{64}}(?!\w)", "dt0"),
    _fixed("infracost_key", rf"ico-{_WORD}{{32}}", "ico-"),
    # messages
    _token("slack_token", r"xox[abceoprs](?:\.xox[bp])?-[\w-]{10,}+", "xox"),
    _token("slack_token", r"xapp-\d-[\w-]{20,}+", "xapp-"),
    Pattern("slack_webhook", ("hooks.slack.com/",), Regex(
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[\w/]{20,}+)", re.ASCII | re.IGNORECASE)),
    Pattern("discord_token", (".",), Regex(
        rf"[MNO](?:(?<![\w.-][MNO])[\w-]{{23,27}}|{_AFTER_MNO}{beginning(_WORD, '.{4}')}"
        rf"(?:[MNO]{_AFTER_MNO}){{4}}[\w-]{{2,8}})\.[\w-]{{6}}\.[\w-]{{27,}}+", re.ASCII), is_searched=True),
    Pattern("discord_webhook", ("api/webhooks/",), Regex(
        r"api/webhooks/\d{15,21}/(?P<value>[\w-]{60,}+)", re.ASCII | re.IGNORECASE)),
    Pattern("telegram_token", (":aa",), Regex(  # in a URL behind `bot`
        rf"\d{beginning('[0-9]', '.')}\d{{7,10}}:AA[\w-]{{32,}}+", re.ASCII), is_searched=True),
    _apart("sendgrid_key", r"SG\.[\w-]{16,64}\.[\w-]{16,}+", "sg."),
    _found("twilio_key", "SK", rf"{_HEX}{{32}}(?!\w)", "sk"),
    _apart("mailgun_key", rf"key-{_HEX}{{32}}(?!\w)", "key-"),
    _found("mailchimp_key", _HEX, rf"{_HEX}{{31}}-us\d{{1,2}}(?!\w)", "-us"),
    _token("brevo_key", rf"xkeysib-{_HEX}{{64}}-\w{{16,}}+", "xkeysib-"),
    # money
    _token("stripe_key", rf"[sr]k_(?:live|test|prod)_{_WORD}{{10,}}+", *(
        f"{kind}k_{mode}_" for kind in "sr" for mode in ("live", "test", "prod")
    )),
    _token("stripe_secret", r"whsec_[A-Za-z0-9+/]{24,}+={0,2}", "whsec_"),
    _token("square_token", r"sq0[a-z]{3}-[\w-]{22,}+", "sq0"),
    _fixed("shopify_token", r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}", *(
        f"shp{kind}_" for kind in ("at", "ca", "pa", "ss", "tka")
    )),
    _fixed("easypost_key", rf"EZ[AT]K{_WORD}{{54}}", "ezak", "eztk"),
    _token("facebook_token", r"EAA[MC][A-Za-z0-9]{100,}+", "eaam", "eaac"),
    _token("flutterwave_key", r"FLWSECK(?:_TEST)?-[0-9a-z]{12,}+(?:-X)?", "flwseck"),
    _fixed("shippo_token", rf"shippo_(?:live|test)_{_HEX}{{40}}", "shippo_"),
    _token("duffel_token", r"duffel_(?:test|live)_[\w-]{40,}+", "duffel_"),
    # what teams use
    _token("linear_key", rf"lin_(?:api|oauth)_{_WORD}{{32,}}+", "lin_api_", "lin_oauth_"),
    _token("notion_token", rf"(?:secret_{_WORD}{{43}}|ntn_{_WORD}{{40,}}+)(?!\w)", "secret_", "ntn_"),
    _token("figma_token", r"fig[dru]_[\w-]{40,}+", "figd_", "figr_", "figu_"),
    _fixed("airtable_token", rf"pat{_WORD}{{14}}\.{_HEX}{{64}}", "pat"),
    _apart("dropbox_token", r"sl\.(?:u\.)?[\w-]{100,}+", "sl."),
    _token("grafana_token", rf"gl(?:sa_{_WORD}{{32}}_{_HEX}{{8}}(?!\w)|c_eyJ[\w+/-]{{30,}}+={{0,2}})", "glsa_", "glc_"),
    _token("newrelic_key", r"NR(?:AK|II|JS|RA|IQ)-[\w-]{19,}+", "nrak-", "nrii-", "nrjs-", "nrra-", "nriq-"),
    _token("sentry_token", r"sntry[su]_[\w+/=-]{40,}+", "sntrys_", "sntryu_"),
    _token("onepassword_token", r"ops_eyJ[\w+/=-]{60,}+", "ops_eyj"),
    _token("age_key", r"AGE-SECRET-KEY-1[0-9A-Z]{40,}+", "age-secret-key-1"),
    _fixed("readme_key", r"rdme_[0-9a-z]{70}", "rdme_"),
    _fixed("prefect_key", rf"pnu_{_WORD}{{36}}", "pnu_"),
    _token("typeform_token", r"tfp_[\w-]{40,}+", "tfp_", accept=_random_token),
    _token("frameio_token", r"fio-u-[\w-]{60,}+", "fio-u-"),
    _token("jwt", r"eyJ[\w-]{8,512}+\.eyJ[\w-]{8,4096}+\.[\w-]{16,}+", "eyj"),
)  # fmt: skip
"""Every shape with a beginning of its own."""
