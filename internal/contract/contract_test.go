package contract

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const small = `
openapi: 3.1.0
info: {title: small, version: "1"}
paths:
  /things/{thing_id}:
    get:
      operationId: get_thing
      parameters:
        - {name: thing_id, in: path, required: true, schema: {type: string}}
      responses: {'204': {description: none}}
  /things/count:
    get:
      operationId: count_things
      responses:
        '200':
          description: the count
          content: {application/json: {schema: {type: integer}}}
`

func TestLoadRefusesADefectiveDocument(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{
		"no YAML":           "a: [",
		"no OpenAPI":        "just text",
		"a broken ref":      strings.Replace(small, "{type: integer}", "{$ref: '#/components/schemas/None'}", 1),
		"a broken pattern":  strings.Replace(small, "schema: {type: string}", "schema: {type: string, pattern: '('}", 1),
		"an unknown schema": strings.Replace(small, "schema: {type: string}", "schema: {type: text}", 1),
	} {
		if _, err := Load([]byte(document)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAResponseIsJudgedByTheMostLiteralPath(t *testing.T) {
	t.Parallel()
	c, err := Load([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/things/count": "count_things", "/things/7": "get_thing", "/things/7/8": "", "/": ""} {
		got := ""
		if o := c.match(httptest.NewRequest(http.MethodGet, path, nil)); o != nil {
			got = o.ID
		}
		if got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestOnlyStorableValuesPass(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		`{"a":[1,2.5,-3e10,"text",true,null]}`: true,
		`0.0`:                                  true,
		`"\ud800"`:                             true, // decoded as the replacement character
		`1e400`:                                false,
		`1e-400`:                               false,
		"1" + strings.Repeat("0", 500):         false,
		`{"\u0000":1}`:                         false,
		`["\u0000"]`:                           false,
	} {
		value, problems := decode([]byte(raw))
		if problems != nil {
			t.Fatalf("%s: %v", raw, problems)
		}
		if problems, _ := inspect(value); (len(problems) == 0) != want {
			t.Errorf("%.40s: %v", raw, problems)
		}
	}
}
