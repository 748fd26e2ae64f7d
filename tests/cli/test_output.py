"""What commands print, and where to."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from noisyor.cli import interrupts, output


def test_notices_go_to_standard_error(run, tmp_path):
    import warnings

    from noisyor.cli import app
    from noisyor.errors import NoisyOrWarning

    def warn():
        warnings.warn("mind the gap", NoisyOrWarning, stacklevel=1)

    registered = list(app.app.registered_commands)
    app.app.command("warn")(app.ending_kindly(warn))
    app.all_commands.cache_clear()
    try:
        assert run("warn") == (0, "", "noisyor: note: mind the gap\n")
    finally:
        app.app.registered_commands[:] = registered
        app.all_commands.cache_clear()


def test_a_reader_who_has_had_enough_is_no_error(tmp_path):
    noisyor = Path(sys.executable).parent / "noisyor"
    small = f"demo --network figure1 --records 100 -o {tmp_path}"
    script = f"set -o pipefail; {noisyor} {small} | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_facts_for_machines_are_valid_json(capsys):
    output.show_json({"mean error": float("nan"), "each": [1.5, float("inf"), {"n": 3}]})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == {"mean_error": None, "each": [1.5, None, {"n": 3}]}


def test_what_was_done_is_told_once_or_not_at_all(capsys):
    for quiet, as_json, expected in (
        (False, False, "Done.\n"),
        (True, False, ""),
        (False, True, '{"n": 1}\n'),
        (True, True, '{"n": 1}\n'),
    ):
        output.tell("Done.", {"n": 1}, quiet=quiet, as_json=as_json)
        assert capsys.readouterr().out == expected


def test_names_are_printed_as_they_are(capsys):
    output.show_facts({"[red]name[/red]": ":smile:", "records": 12345})
    out = capsys.readouterr().out
    assert "[red]name[/red]" in out
    assert ":smile:" in out
    assert "12,345" in out
    output.show(output.text_table(["a", "number"], [["[b]x", "1"]], left=["a"], has_lines=False))
    assert "[b]x       1" in capsys.readouterr().out


def test_a_bar_notices_an_interruption_that_was_swallowed(monkeypatch, capsys):
    with output.progress_bar("counting", 10) as advance:
        advance(5)
        interrupts._requested.set()
        try:
            with pytest.raises(KeyboardInterrupt):
                advance(5)
        finally:
            interrupts._requested.clear()
    assert capsys.readouterr().err == ""  # there is no terminal to draw on


HOSTILE = "\x1b[2Jflu\x07 \u202egnissim\u2066 \x9b31m"


def test_what_would_act_on_a_terminal_is_shown_escaped(capsys):
    output.show(HOSTILE, output.text_table([HOSTILE], [[f"{HOSTILE}\n2"]], title=HOSTILE))
    output.show_facts({HOSTILE: HOSTILE})
    output.tell(HOSTILE, {}, quiet=False, as_json=False)
    output.note(HOSTILE)
    shown = "".join(capsys.readouterr())
    assert not set(HOSTILE) - set("\x1b\x07\u202e\u2066\x9b") - set(shown)
    assert not set("\x1b\x07\u202e\u2066\x9b") & set(shown)
    assert "\\x1b[2Jflu\\x07" in shown


def test_letters_of_all_scripts_are_shown_as_they_are(capsys):
    names = "fièvre 発熱\u3000 \u0645\u06cc\u200c\u062e 👩\u200d⚕️ \u00a0"
    output.tell(names, {}, quiet=False, as_json=False)
    assert capsys.readouterr().out == f"{names}\n"
