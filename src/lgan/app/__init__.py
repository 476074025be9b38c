"""A local page over a trained model: draw, ask, compare, drop a file."""

from lgan.app.limits import Limits
from lgan.app.routes import build_app
from lgan.app.server import listen, serve

__all__ = ["Limits", "build_app", "listen", "serve"]
