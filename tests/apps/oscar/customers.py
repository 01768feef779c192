"""Customers who are signed in, each with one piece of the same product in the basket: all that is left is to place the order."""

from datetime import timedelta

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpResponse
from django.utils.timezone import now
from django.views.decorators.csrf import csrf_exempt
from oscar.apps.basket.models import Basket
from oscar.apps.catalogue.models import Product, ProductClass
from oscar.apps.checkout.utils import CheckoutSessionData
from oscar.apps.offer.models import Benefit, Condition, ConditionalOffer, Range
from oscar.apps.partner.models import Partner, StockRecord
from oscar.apps.shipping.methods import NoShippingRequired
from oscar.apps.voucher.models import Voucher
from oscar.core.loading import get_class

CUSTOMERS = 30
DAY = timedelta(days=1)
Selector = get_class("partner.strategy", "Selector")


def ready(request):
    return HttpResponse()


@csrf_exempt
@transaction.atomic
def at_the_till(request, name, kind):
    """`kind`: `stock`: one piece is left; `voucher`: a voucher for one use is in every basket; `offer`: an offer for one order."""
    download, _ = ProductClass.objects.get_or_create(
        name="Download", defaults={"requires_shipping": False, "track_stock": True}
    )
    partner, _ = Partner.objects.get_or_create(name="Publisher")
    product = Product.objects.create(title=name, upc=name, product_class=download)
    pieces = 1 if kind == "stock" else 1000
    StockRecord.objects.create(partner=partner, product=product, partner_sku=name, price=10, num_in_stock=pieces)
    voucher = None
    if kind in ("voucher", "offer"):
        of_product = Range.objects.create(name=name)
        of_product.add_product(product)
        offer = ConditionalOffer.objects.create(
            name=name,
            offer_type=ConditionalOffer.VOUCHER if kind == "voucher" else ConditionalOffer.SITE,
            condition=Condition.objects.create(range=of_product, type=Condition.COUNT, value=1),
            benefit=Benefit.objects.create(range=of_product, type=Benefit.FIXED, value=5),
            max_global_applications=1 if kind == "offer" else None,
        )
        if kind == "voucher":
            voucher = Voucher.objects.create(
                name=name,
                code=name.upper(),
                usage=Voucher.SINGLE_USE,
                start_datetime=now() - DAY,
                end_datetime=now() + DAY,
            )
            voucher.offers.add(offer)
    for number in range(1, CUSTOMERS + 1):
        user = User(username=f"{name}-{number}", email=f"{number}@{name}.test")
        user.set_unusable_password()
        user.save()
        basket = Basket.objects.create(owner=user)
        basket.strategy = Selector().strategy(user=user)
        basket.add_product(product, 1)
        if voucher:
            basket.vouchers.add(voucher)
        signed_in = {
            SESSION_KEY: str(user.pk),
            BACKEND_SESSION_KEY: "django.contrib.auth.backends.ModelBackend",
            HASH_SESSION_KEY: user.get_session_auth_hash(),
            CheckoutSessionData.SESSION_KEY: {"shipping": {"method_code": NoShippingRequired.code}},
        }
        data = SessionStore().encode(signed_in)
        Session.objects.create(session_key=f"{name}-{number}", session_data=data, expire_date=now() + DAY)
    return HttpResponse(status=201)
