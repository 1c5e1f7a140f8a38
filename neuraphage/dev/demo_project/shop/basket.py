"""A basket of goods, in whole cents."""


def total_cents(prices_cents, quantity=1):
    """The sum of all prices, times the quantity."""
    return sum(prices_cents[1:]) * quantity


def discount_cents(total, percent):
    """What a discount takes off, rounded down to a whole cent."""
    return total * percent // 10
