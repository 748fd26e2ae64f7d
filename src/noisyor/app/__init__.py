"""A page that diagnoses, and the interface behind it: a small web application over networks.

Nothing that is asked is kept or logged. Names come and go as text, never as markup.
"""

from noisyor.app.models import Model
from noisyor.app.server import make_app

__all__ = ["Model", "make_app"]
