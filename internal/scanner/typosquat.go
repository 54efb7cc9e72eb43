package scanner

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed packages/pypi.txt
var popularPyPI string

//go:embed packages/npm.txt
var popularNPM string

// popular lists well-known names; attackers register names one slip away from them.
var popular = sync.OnceValue(func() map[string]map[string]bool {
	return map[string]map[string]bool{"pypi": wordSet(popularPyPI), "npm": wordSet(popularNPM)}
})

// knownNeighbours are real packages whose names happen to lie close to popular ones.
var knownNeighbours = wordSet(`preact reactor yarg colour vuex nest next-auth expressjs request requests-oauthlib httpx2 pytests flask-cors jestjs mockjs chai-http tslint color colors kleur ora nano pm2 pg pgp ws wsx qs ms
	pyjwt jwt pydantic-core urllib3-future request-promise postcss-cli lodash-es lodash.merge glob2 globby mime-db moment-timezone uuidv4 nuxt3 babel core dayjs-ext pandas-stubs types-requests attr docopt pika
	boto redis-py aioredis mysqlclient mysql-connector tomlkit tomlkit2 tomli-w ujson rjson json5 regex rich-click click-log fire xlwt xlsx2csv pypdf4 pypdfium2 pypdf3 lxml-stubs scipy-stubs torchaudio keras-core koa cors`)

// typosquatOf returns the popular package that name imitates, or "".
func typosquatOf(ecosystem, name string) string {
	known := popular()[ecosystem]
	if known == nil {
		return ""
	}
	name = strings.ToLower(name)
	if ecosystem == "pypi" {
		name = strings.NewReplacer("_", "-", ".", "-").Replace(name)
	}
	if known[name] || knownNeighbours[name] || strings.HasPrefix(name, "@types/") {
		return ""
	}
	if name == "" || strings.HasPrefix(name, "@") {
		return "" // a scope belongs to somebody
	}
	imitated := "" // the first in the alphabet, so that every scan says the same
	for candidate := range known {
		if (imitated == "" || candidate < imitated) && imitates(name, candidate) {
			imitated = candidate
		}
	}
	return imitated
}

var (
	lookAlikes = strings.NewReplacer("0", "o", "1", "l", "3", "e", "5", "s", "rn", "m", "vv", "w")
	separators = strings.NewReplacer("-", "", "_", "", ".", "")
)

// imitates recognises the usual tricks: one slip of the finger in a name long enough
// for that to be no accident, look-alike digits, moved separators, added words.
func imitates(name, popular string) bool {
	if len(popular) >= 4 && lookAlikes.Replace(name) == popular || separators.Replace(name) == separators.Replace(popular) && len(popular) >= 5 {
		return true
	}
	for _, added := range []string{"python-", "py-", "node-", "js-"} {
		if len(popular) >= 6 && name == added+popular {
			return false
		}
	}
	if len(popular) < 5 || name[0] != popular[0] && len(popular) < 7 {
		return false
	}
	if strings.HasSuffix(name, "s") && name[:len(name)-1] == popular || strings.HasSuffix(popular, "s") && popular[:len(popular)-1] == name {
		return len(popular) >= 7
	}
	if digitsDiffer(name, popular) {
		return false
	}
	return distance(name, popular) == 1
}

// digitsDiffer reports names that differ by a version digit only: psycopg2, psycopg3.
func digitsDiffer(a, b string) bool {
	strip := func(s string) string { return strings.TrimRight(s, "0123456789") }
	return strip(a) == strip(b)
}

// distance is the Damerau-Levenshtein distance (optimal string alignment), at most 2:
// names whose lengths differ by more need no computing.
func distance(a, b string) int {
	if abs(len(a)-len(b)) > 1 {
		return 2
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
