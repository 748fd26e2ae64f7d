"""What commands print, and where to."""

import subprocess
import sys
from pathlib import Path


def test_notices_go_to_standard_error(run, tmp_path):
    import warnings

    from noisyor.cli import app
    from noisyor.errors import NoisyOrWarning

    def warn():
        warnings.warn("mind the gap", NoisyOrWarning, stacklevel=1)

    registered = list(app.app.registered_commands)
    app.app.command("warn")(app.ending_kindly(warn))
    try:
        assert run("warn") == (0, "", "noisyor: note: mind the gap\n")
    finally:
        app.app.registered_commands[:] = registered


def test_a_reader_who_has_had_enough_is_no_error(tmp_path):
    noisyor = Path(sys.executable).parent / "noisyor"
    small = f"demo --network figure1 --records 100 -o {tmp_path}"
    script = f"set -o pipefail; {noisyor} {small} | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
