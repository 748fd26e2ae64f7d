import pytest

from noisyor.cli import main


@pytest.fixture
def run(capsys):
    """Run a command line; return exit code, standard output and standard error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return exit_.value.code or 0, output.out, output.err

    return call
