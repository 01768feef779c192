"""One copy of the shop: threads of one process, as a small installation runs it."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")

from django.core.wsgi import get_wsgi_application
from waitress import serve

serve(get_wsgi_application(), host="127.0.0.1", port=int(os.environ["PORT"]), threads=16)
