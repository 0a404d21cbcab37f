"""Write the expected outputs of all golden scenarios; look at the difference before you keep it."""

import json

from tests.golden.test_golden import HERE, NAMES, outputs

if __name__ == "__main__":
    for name in NAMES:
        text = json.dumps(outputs(name), indent=1)
        (HERE / f"{name}.json").write_text(text + "\n")
