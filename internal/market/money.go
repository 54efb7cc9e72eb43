package market

import "math/bits"

// Currency is the only currency there is for now.
const Currency = "USD_CREDIT"

// Bounds of amounts, in cents.
const (
	MaxAmountCents   int64 = 1_000_000_000_000
	MinRewardCents   int64 = 100
	basisPointsInOne       = 10_000
)

// Fee splits amountCents into the marketplace's fee and what is left for the
// seller: fee = floor(amount × basisPoints / 10000), net = amount − fee. The
// product is computed in 128 bits, so no amount overflows it. It expects
// 0 ≤ amountCents and 0 ≤ basisPoints ≤ 10000.
func Fee(amountCents int64, basisPoints int) (feeCents, netCents int64) {
	hi, lo := bits.Mul64(uint64(amountCents), uint64(basisPoints)) //nolint:gosec // both are documented as non-negative
	fee, _ := bits.Div64(hi, lo, basisPointsInOne)
	feeCents = int64(fee) //nolint:gosec // at most amountCents
	return feeCents, amountCents - feeCents
}

// CheckCurrency refuses every currency but the supported one.
func CheckCurrency(currency string) error {
	if currency != Currency {
		return Refused("currency_unsupported", "The only currency supported is %s.", Currency)
	}
	return nil
}
