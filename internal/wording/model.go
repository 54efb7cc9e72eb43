// Package wording judges how a bundle is worded. A linear model over words and pairs
// of words, trained on the scanner's evaluation corpus, says whether a text reads more
// like bundles which work against their user or more like honest ones, and which lines
// weigh most. It knows no phrase by heart, so it also reads what no rule describes; it
// understands nothing, so what it says is a hint and no proof.
package wording

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Model weighs the features of a text. A feature is a token or two tokens in a row. A
// text's score is the bias and, over its distinct features, the mean of their weights
// by their rarity: Σ rarity × weight / √Σ rarity².
type Model struct {
	bias     float64
	features []feature // by name
	index    map[string]int32
}

// feature is what a model knows of one token or pair.
type feature struct {
	name   string
	rarity float32 // 1 + ln of the inverse share of texts that have it
	weight float32 // above 0 for words of harmful bundles
}

// pairMark joins the two tokens of a pair; no token holds a space.
const pairMark = " "

func newModel(bias float64, features []feature) *Model {
	slices.SortFunc(features, func(a, b feature) int { return cmp.Compare(a.name, b.name) })
	m := &Model{bias: bias, features: features, index: make(map[string]int32, len(features))}
	for i, f := range features {
		m.index[f.name] = int32(i)
	}
	return m
}

// enough is the sum of squares of some fifty tokens. A shorter text is scored as if it
// had so many: little is said, so little is known.
const enough = 1000

func norm(square float64) float64 { return math.Sqrt(max(square, enough)) }

// Write renders m as text, a line for each feature: name, rarity, weight. Parse reads it.
func (m *Model) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%.4f\n", m.bias)
	for _, f := range m.features {
		fmt.Fprintf(out, "%s\t%.2f\t%.2f\n", f.name, f.rarity, f.weight)
	}
	return out.Flush()
}

// Parse reads what Write wrote.
func Parse(data []byte) (*Model, error) {
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	bias, err := strconv.ParseFloat(string(head), 64)
	if err != nil {
		return nil, fmt.Errorf("parse wording model: bias: %w", err)
	}
	var features []feature
	n := 1
	for line := range strings.Lines(string(rest)) {
		n++
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("parse wording model: line %d: want name, rarity and weight", n)
		}
		rarity, err := strconv.ParseFloat(fields[1], 32)
		if err != nil || rarity <= 0 {
			return nil, fmt.Errorf("parse wording model: line %d: rarity %q", n, fields[1])
		}
		weight, err := strconv.ParseFloat(fields[2], 32)
		if err != nil || math.IsNaN(weight) || math.IsInf(weight, 0) {
			return nil, fmt.Errorf("parse wording model: line %d: weight %q", n, fields[2])
		}
		features = append(features, feature{fields[0], float32(rarity), float32(weight)})
	}
	return newModel(bias, features), nil
}
