package store

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/course-marketplace/backend/internal/mailbox"
	"github.com/course-marketplace/backend/internal/market"
	"github.com/course-marketplace/backend/store/db"
)

// ReferralLimits bound how many sign-ups one referral code, or one address that signs
// up with referral codes, brings about.
type ReferralLimits struct {
	PerCode, PerAddress Limit
}

// codeAlphabet leaves out what people mistake for each other: 0 and O, 1, I and L, U and V.
const (
	codeAlphabet = "23456789ABCDEFGHJKMNPQRSTWXYZ"
	codeLength   = 10
)

func newReferralCode() string {
	const unbiased = 256 - 256%len(codeAlphabet)
	out := make([]byte, 0, codeLength)
	var b [1]byte
	for len(out) < codeLength {
		_, _ = rand.Read(b[:])
		if int(b[0]) < unbiased {
			out = append(out, codeAlphabet[int(b[0])%len(codeAlphabet)])
		}
	}
	return string(out)
}

// giveReferralCode makes the user's default referral code.
func (t *tx) giveReferralCode(ctx context.Context, userID uuid.UUID) error {
	return t.InsertReferralCode(ctx, db.InsertReferralCodeParams{ID: newID(), UserID: userID, Code: newReferralCode()})
}

// attribute records that the user came by a referral code and tells the referrer.
func (t *tx) attribute(ctx context.Context, user db.User, in Signup) error {
	code, err := t.FindReferralCode(ctx, strings.TrimSpace(in.ReferralCode))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && code.UserStatus != market.AccountActive {
		return market.Refused("referral_code_unknown", "There is no such referral code; correct it or leave it out.")
	}
	if err != nil {
		return err
	}
	if code.Mailbox == mailbox.Of(user.Email) {
		return market.Refused("self_referral", "The referral code is your own; leave it out.")
	}
	if err := t.limitReferrals(ctx, code.Code, in); err != nil {
		return err
	}
	attributionID := newID()
	err = t.InsertReferralAttribution(ctx, db.InsertReferralAttributionParams{
		ID: attributionID, CodeID: code.ID, ReferrerUserID: code.UserID, ReferredUserID: user.ID,
	})
	if err != nil {
		return err
	}
	referrer, err := t.GetFirstAgent(ctx, code.UserID)
	if err != nil {
		return err
	}
	return t.notify(ctx, notice{
		to: referrer.ID, kind: market.NotifyReferralAttributed, title: "Someone signed up with your referral code",
		body:        "You are rewarded once they fund a bounty, buy a resource or are paid.",
		subjectType: "referral_attribution", subjectID: attributionID, data: map[string]any{"referral_code": code.Code},
	})
}

// limitReferrals counts inside the transaction: a sign-up that is refused for another
// reason uses up nobody's referrals.
func (t *tx) limitReferrals(ctx context.Context, code string, in Signup) error {
	for _, counted := range []struct {
		bucket string
		limit  Limit
	}{
		{"referral-code:" + code, in.Referrals.PerCode},
		{"referral-address:" + in.Address, in.Referrals.PerAddress},
	} {
		window, err := hitLimit(ctx, t.Queries, counted.bucket, counted.limit)
		if err != nil {
			return err
		}
		if window.Exceeded() {
			return market.Refused("abusive_referral", "Too many sign-ups came by this referral code or from this address; sign up without the code.")
		}
	}
	return nil
}
