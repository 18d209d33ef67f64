"""Prints phonenumbers' examples as JSON: each number, and spellings that the library reads as that number."""

import json

import phonenumbers
from phonenumbers import PhoneNumberFormat
from phonenumbers.phonemetadata import PhoneMetadata

KINDS = ["fixed_line", "mobile", "personal_number", "voip", "pager", "uan", "voicemail"]


def read(text, region=None):
    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def example(region, kind):
    metadata = PhoneMetadata.metadata_for_region(region)
    code = metadata.country_code
    # In Belarus a second digit follows a dialling tone.
    prefix = "80" if region == "BY" else metadata.national_prefix or ""
    description = getattr(metadata, kind)
    national = description and description.example_number
    # A number of a few digits serves within its country alone.
    if not national or len(f"{code}{national}") < 7:
        return None
    number = f"+{code}{national}"
    abroad = [number, f"+{code}0{national}"]
    if prefix.startswith("0"):
        abroad.append(f"+{code} {prefix} {national}")
    home = [national, prefix + national]
    return {
        "region": region,
        "number": number,
        "abroad": [each for each in abroad if read(each) == number],
        "home": [each for each in home if read(each, region) == number],
    }


examples = [example(region, kind) for region in sorted(phonenumbers.SUPPORTED_REGIONS) for kind in KINDS]
print(json.dumps([each for each in examples if each]))
