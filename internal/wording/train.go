package wording

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// Sample is a labelled text to learn from.
type Sample struct {
	Lines   []string
	Harmful bool
}

// How a model is trained. Measured by leaving out one round of samples at a time: a
// weaker or stronger penalty, triples of words or more features changed little.
const (
	minTexts        = 2      // a feature occurs in so many texts at least
	maxFeatures     = 20_000 // the rest weighs next to nothing
	backgroundShare = 2
	penalty         = 0.03 // times half the sum of squared weights
)

// Train fits a logistic regression with an L2 penalty, both labels counting the same
// however many samples each has. The same samples give the same model, but for the last
// digits, which depend on the processor.
//
// The background is honest texts from elsewhere. Each counts as half a sample, and they
// come on top: they teach what is ordinary, not how common harm is.
func Train(samples []Sample, background [][]string) (*Model, error) {
	p := newProblem(samples, background)
	if p.harmful == 0 || p.harmful == len(samples) {
		return nil, errors.New("train wording model: samples of both labels are needed")
	}
	result, err := optimize.Minimize(
		optimize.Problem{Func: p.loss, Grad: p.gradient},
		make([]float64, len(p.names)+1),
		&optimize.Settings{GradientThreshold: 1e-3, MajorIterations: 500},
		&optimize.LBFGS{})
	if err != nil {
		return nil, fmt.Errorf("train wording model: %w", err)
	}
	return p.model(result.X), nil
}

// problem is the samples as sparse vectors.
type problem struct {
	names   []string
	rarity  []float64
	rows    []row
	harmful int
}

type row struct {
	columns []int
	values  []float64
	label   float64 // 1 or -1
	share   float64 // how much the sample counts
}

func newProblem(samples []Sample, background [][]string) *problem {
	p := &problem{}
	var texts []map[string]bool
	for _, s := range samples {
		texts = append(texts, featuresOf(s.Lines))
		if s.Harmful {
			p.harmful++
		}
	}
	for _, lines := range background {
		texts = append(texts, featuresOf(lines))
	}
	count := map[string]int{}
	for _, text := range texts {
		for name := range text {
			count[name]++
		}
	}
	index := map[string]int{}
	for name, n := range count {
		if n >= minTexts {
			p.names = append(p.names, name)
		}
	}
	slices.Sort(p.names) // the order of a sum decides its last digits
	for i, name := range p.names {
		index[name] = i
		p.rarity = append(p.rarity, 1+math.Log(float64(1+len(texts))/float64(1+count[name])))
	}
	for i, s := range samples {
		r := p.row(texts[i], index)
		r.label, r.share = -1, float64(len(samples))/(2*float64(len(samples)-p.harmful))
		if s.Harmful {
			r.label, r.share = 1, float64(len(samples))/(2*float64(p.harmful))
		}
		p.rows = append(p.rows, r)
	}
	for _, text := range texts[len(samples):] {
		r := p.row(text, index)
		r.label, r.share = -1, backgroundShare
		p.rows = append(p.rows, r)
	}
	return p
}

// row is a text as a vector, yet without a label. Its length is 1, less for a short text.
func (p *problem) row(text map[string]bool, index map[string]int) row {
	var r row
	for name := range text {
		if column, ok := index[name]; ok {
			r.columns = append(r.columns, column)
		}
	}
	slices.Sort(r.columns)
	square := 0.0
	for _, c := range r.columns {
		square += p.rarity[c] * p.rarity[c]
	}
	for _, c := range r.columns {
		r.values = append(r.values, p.rarity[c]/norm(square))
	}
	return r
}

// featuresOf is the set of tokens and pairs of a text.
func featuresOf(lines []string) map[string]bool {
	out := map[string]bool{}
	last := ""
	for _, line := range lines {
		tokens(line, func(token string) {
			out[token] = true
			if last != "" {
				out[last+pairMark+token] = true
			}
			last = token
		})
	}
	return out
}

// margin is label × score: above 0 where the weights x get the row right. The last of x
// is the bias.
func (r row) margin(x []float64) float64 {
	score := x[len(x)-1]
	for i, c := range r.columns {
		score += r.values[i] * x[c]
	}
	return r.label * score
}

func (p *problem) loss(x []float64) float64 {
	sum := 0.0
	for _, r := range p.rows {
		m := r.margin(x)
		// ln(1 + e^-m) without overflow.
		sum += r.share * (max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m))))
	}
	for _, w := range x[:len(x)-1] {
		sum += penalty / 2 * w * w
	}
	return sum
}

func (p *problem) gradient(grad, x []float64) {
	clear(grad)
	for _, r := range p.rows {
		g := -r.label * r.share / (1 + math.Exp(r.margin(x)))
		for i, c := range r.columns {
			grad[c] += g * r.values[i]
		}
		grad[len(grad)-1] += g
	}
	for i, w := range x[:len(x)-1] {
		grad[i] += penalty * w
	}
}

// model keeps the features that matter most over all samples.
func (p *problem) model(x []float64) *Model {
	mass := make([]float64, len(p.names))
	for _, r := range p.rows {
		for i, c := range r.columns {
			mass[c] += r.values[i] * r.values[i]
		}
	}
	order := make([]int, len(p.names))
	for i := range order {
		order[i] = i
	}
	importance := func(i int) float64 { return math.Abs(x[i]) * math.Sqrt(mass[i]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(importance(b), importance(a)) })
	var features []feature
	for _, i := range order[:min(len(order), maxFeatures)] {
		features = append(features, feature{p.names[i], float32(p.rarity[i]), float32(x[i])})
	}
	return newModel(x[len(x)-1], features)
}
