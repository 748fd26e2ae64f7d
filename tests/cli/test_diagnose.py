"""`noisyor diagnose`: what cannot be asked; one patient and files of records have their own."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "fevr"], "there is no symptom named 'fevr'; did you mean 'fever'?"),
        (["-p", "s"], "can be more than one symptom"),
        (["-p", "fever", "-a", "fever"], "'fever' is given twice"),
        (["-p", "fever", "--budget", "0"], "budget must be a number of seconds above 0"),
        (["-p", "fever", "--layout", "long"], "--layout is for files of records"),
        (["-p", "fever", "--method", "magic"], "there is no method 'magic'"),
        (["-p", "fever", "--about", "influenza"], "--about is for questions: also give --ask"),
        (["-p", "fever", "--cost", "cough=5"], "--cost is for questions: also give --ask"),
        (["-p", "fever", "--ask", "--about", "flu"], "there is no disease named 'flu'"),
        (["-p", "fever", "-o", "x.csv"], "--output is for files of records"),
        (["records.csv", "-p", "fever"], "--present is for one patient"),
        (["records.csv"], "say where to write"),
        (["nowhere.csv", "-o", "x.csv"], "nowhere.csv"),
        (["-p", "fever", "--errors", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_wrong_calls(run, arguments, message):
    code, out, err = run("diagnose", "clinic", *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert out == ""
