-- name: InsertReferralCode :exec
INSERT INTO referral_codes (id, user_id, code, is_default) VALUES ($1, $2, $3, true);

-- name: FindReferralCode :one
SELECT c.id, c.code, c.user_id, u.mailbox, u.status AS user_status
FROM referral_codes c JOIN users u ON u.id = c.user_id
WHERE c.code = upper(@code) AND c.status = 'active';

-- name: InsertReferralAttribution :exec
INSERT INTO referral_attributions (id, code_id, referrer_user_id, referred_user_id) VALUES ($1, $2, $3, $4);
