"""django-oscar's own URLs, and one beside them that puts customers in front of the till."""

from django.apps import apps
from django.urls import include, path
from django.views.i18n import JavaScriptCatalog

from customers import at_the_till, ready

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("jsi18n/", JavaScriptCatalog.as_view(), name="javascript-catalog"),
    path("ready", ready),
    path("till/<name>/<kind>", at_the_till),
    path("", include(apps.get_app_config("oscar").urls[0])),
]
