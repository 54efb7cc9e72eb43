package api_test

import (
	"errors"
	"testing"

	"github.com/course-marketplace/backend/internal/market"
)

// Whatever validation lets through must decode: a binding error would be a second,
// poorer answer to malformed input.
func FuzzValidatedBodiesDecode(f *testing.F) {
	for _, seed := range []string{
		`{"course_id":"` + anID + `","title":"t","description":"d","reward_amount_cents":100}`,
		`{"course_id":"` + anID + `","title":"t","description":"d","reward_amount_cents":1e2,"submission_deadline":"2027-01-31T24:00:00Z"}`,
		`{"course_id":"` + anID + `","title":"t","description":"d","reward_amount_cents":100.0,"Currency":7}`,
		`{"course_id":null,"title":[],"description":{},"reward_amount_cents":"1"}`,
		`{"course_id":"{` + anID + `}","submission_deadline":"2027-01-31t12:00:60z"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, refusal := send(t, request("POST", "/v1/bounties", body))
		var invalid *market.InvalidError
		switch {
		case (got == nil) == (refusal == nil):
			t.Errorf("got %v and refused %v", got, refusal)
		case errors.As(refusal, &invalid):
			for _, field := range invalid.Fields {
				if field.Msg == "is not valid" || field.Msg == "has the wrong type" {
					t.Errorf("validation let it through, decoding did not: %v", field)
				}
			}
		}
	})
}
