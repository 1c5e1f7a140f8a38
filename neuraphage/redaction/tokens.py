"""Secrets that are known by how they begin: what services hand out. Facts about their formats, one line each.

A token begins where no letter, digit or `_` stands before it, and is taken to its end. A dash may stand before it, as
in `--header=X-ghp_...`. So that no run of characters is scanned again and again, each body either matches as long as
there is enough of it, or is bounded.
"""

from __future__ import annotations

import re

from neuraphage.redaction.patterns import Pattern, Regex, anything, looks_random

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


def _token(kind: str, body: str, *needles: str, random: bool = False) -> Pattern:
    accept = _random_token if random else anything
    return Pattern(kind, needles, Regex(rf"(?<!\w){body}", re.ASCII), accept)


def _found(kind: str, first: str, rest: str, *needles: str) -> Pattern:
    """A token that is told by what stands in it: the whole text is searched, if it holds a needle.

    What it begins with comes first in the expression, too: `re` then skips all that cannot begin one, which it does
    not when a look at what stands before comes first.
    """
    return Pattern(kind, needles, Regex(rf"{first}(?<![\w.-]{first}){rest}", re.ASCII), is_searched=True)


TOKENS: tuple[Pattern, ...] = (
    # models
    Pattern("api_key", ("sk-",), Regex(r"(?<!\w)sk-[\w-]{20,}+", re.ASCII), _random_key),
    _token("api_key", r"gsk_\w{40,}+", "gsk_"),
    _token("api_key", r"xai-[\w-]{60,}+", "xai-"),
    _token("api_key", r"pplx-[\w-]{40,}+", "pplx-"),
    _token("api_key", r"r8_\w{37,}+", "r8_"),
    _token("api_key", r"lsv2_(?:pt|sk)_\w{32,}+", "lsv2_"),
    _token("huggingface_token", r"(?:hf_|api_org_)\w{30,}+", "hf_", "api_org_", random=True),
    # code and packages
    _token("github_token", r"gh[pousr]_[\w-]{36,}+", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("github_token", r"github_pat_[\w-]{22,}+", "github_pat_"),
    _token("gitlab_token", r"gl[a-z]{2,6}-[\w-]{20,}+", *(f"gl{k}-" for k in (
        "pat", "dt", "rt", "cbt", "ptt", "ft", "soat", "agent", "imt", "oas", "ffct", "wt",
    ))),
    _token("npm_token", rf"npm_{_WORD}{{36}}(?!\w)", "npm_"),
    _token("pypi_token", r"pypi-[\w-]{40,}+", "pypi-", random=True),
    _token("cargo_token", rf"cio{_WORD}{{32}}(?!\w)", "cio"),
    _token("rubygems_token", rf"rubygems_{_HEX}{{48}}(?!\w)", "rubygems_"),
    _token("nuget_key", r"oy2[a-z0-9]{43}(?!\w)", "oy2"),
    _token("docker_token", r"dckr_[op]at_[\w-]{27,}+", "dckr_"),
    _token("postman_key", rf"PMAK-{_HEX}{{24}}-{_HEX}{{34}}(?!\w)", "pmak-"),
    _token("sourcegraph_token", r"sgp_\w{40,}+", "sgp_"),
    _token("atlassian_token", r"AT(?:ATT|CTT|BBT)3[\w-]{30,}+={0,2}", "atatt3", "atctt3", "atbbt3"),
    # clouds
    _token("aws_key_id", r"A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}(?!\w)", "akia", "asia", "abia", "acca"),
    _token("google_key", r"AIza[\w-]{35,}+", "aiza"),
    _token("google_token", r"ya29\.[\w-]{20,}+", "ya29."),
    _token("google_secret", r"GOCSPX-[\w-]{20,}+", "gocspx-"),
    _token("google_token", r"1//0[\w-]{40,}+", "1//0"),
    _token("digitalocean_token", rf"do[opr]_v1_{_HEX}{{64}}(?!\w)", "doo_v1_", "dop_v1_", "dor_v1_"),
    _found("azure_secret", r"[\w~.]", r"[\w~.]{2}\dQ~[\w~.-]{30,39}[\w~-](?![\w~-])", "q~"),
    _token("alibaba_key_id", rf"LTAI{_WORD}{{12,20}}(?!\w)", "ltai"),
    _token("vault_token", r"hv[sbr]\.[\w-]{24,}+", "hvs.", "hvb.", "hvr."),
    Pattern("vault_token", ("s.",), Regex(rf"(?<!\w)s\.{_WORD}{{24}}(?:\.{_WORD}{{5}})?(?!\w)", re.ASCII), _old_vault),
    _found("terraform_token", _WORD, rf"{_WORD}{{13}}\.atlasv1\.[\w-]{{60,}}+", ".atlasv1."),
    _token("pulumi_token", rf"pul-{_HEX}{{40}}(?!\w)", "pul-"),
    _token("doppler_token", rf"dp\.[a-z]{{2,6}}\.(?:[\w-]{{1,64}}\.)?{_WORD}{{40,}}+", "dp."),
    _token("tailscale_key", r"tskey-[a-z]{3,10}-[\w-]{16,}+", "tskey-"),
    _token("planetscale_token", r"pscale_[a-z]{2,5}_[\w-]{32,}+", "pscale_"),
    _token("supabase_key", r"sb(?:p|_secret)_\w{30,}+", "sbp_", "sb_secret_"),
    _token("databricks_token", rf"dapi{_HEX}{{32}}(?:-\d)?(?!\w)", "dapi"),
    _token("fly_token", r"(?:fm[12]|fo1)_[\w/+-]{40,}+={0,2}", "fm1_", "fm2_", "fo1_"),
    _token("heroku_key", r"HRKU-[\w-]{36,}+", "hrku-"),
    # messages
    _token("slack_token", r"xox[abceoprs](?:\.xox[bp])?-[\w-]{10,}+", "xox"),
    _token("slack_token", r"xapp-\d-[\w-]{20,}+", "xapp-"),
    Pattern("slack_webhook", ("hooks.slack.com/",), Regex(
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[\w/]{20,}+)", re.ASCII | re.IGNORECASE)),
    _found("discord_token", "[MNO]", r"[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+", "."),
    Pattern("discord_webhook", ("api/webhooks/",), Regex(
        r"api/webhooks/\d{15,21}/(?P<value>[\w-]{60,}+)", re.ASCII | re.IGNORECASE)),
    _found("telegram_token", r"\d", r"\d{7,10}:AA[\w-]{32,}+", ":aa"),
    _token("sendgrid_key", r"SG\.[\w-]{16,64}\.[\w-]{16,}+", "sg."),
    _found("twilio_key", "SK", rf"{_HEX}{{32}}(?!\w)", "sk"),
    _token("mailgun_key", rf"key-{_HEX}{{32}}(?!\w)", "key-"),
    _found("mailchimp_key", _HEX, rf"{_HEX}{{31}}-us\d{{1,2}}(?!\w)", "-us"),
    _token("brevo_key", rf"xkeysib-{_HEX}{{64}}-\w{{16,}}+", "xkeysib-"),
    # money
    _token("stripe_key", rf"[sr]k_(?:live|test|prod)_{_WORD}{{10,}}+", *(
        f"{kind}k_{mode}_" for kind in "sr" for mode in ("live", "test", "prod")
    )),
    _token("stripe_secret", r"whsec_[A-Za-z0-9+/]{24,}+={0,2}", "whsec_"),
    _token("square_token", r"sq0[a-z]{3}-[\w-]{22,}+", "sq0"),
    _token("shopify_token", r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}(?!\w)", *(
        f"shp{kind}_" for kind in ("at", "ca", "pa", "ss", "tka")
    )),
    _token("easypost_key", rf"EZ[AT]K{_WORD}{{54}}(?!\w)", "ezak", "eztk"),
    # what teams use
    _token("linear_key", rf"lin_(?:api|oauth)_{_WORD}{{32,}}+", "lin_api_", "lin_oauth_"),
    _token("notion_token", rf"(?:secret_{_WORD}{{43}}|ntn_{_WORD}{{40,}}+)(?!\w)", "secret_", "ntn_"),
    _token("figma_token", r"fig[dru]_[\w-]{40,}+", "figd_", "figr_", "figu_"),
    _token("airtable_token", rf"pat{_WORD}{{14}}\.{_HEX}{{64}}(?!\w)", "pat"),
    _token("dropbox_token", r"sl\.(?:u\.)?[\w-]{100,}+", "sl."),
    _token("grafana_token", rf"gl(?:sa_{_WORD}{{32}}_{_HEX}{{8}}(?!\w)|c_eyJ[\w+/-]{{30,}}+={{0,2}})", "glsa_", "glc_"),
    _token("newrelic_key", r"NR(?:AK|II|JS|RA|IQ)-[\w-]{19,}+", "nrak-", "nrii-", "nrjs-", "nrra-", "nriq-"),
    _token("sentry_token", r"sntry[su]_[\w+/=-]{40,}+", "sntrys_", "sntryu_"),
    _token("onepassword_token", r"ops_eyJ[\w+/=-]{60,}+", "ops_eyj"),
    _token("age_key", r"AGE-SECRET-KEY-1[0-9A-Z]{40,}+", "age-secret-key-1"),
    _token("jwt", r"eyJ[\w-]{8,512}+\.eyJ[\w-]{8,4096}+\.[\w-]{16,}+", "eyj"),
)  # fmt: skip
"""Every shape with a beginning of its own."""
