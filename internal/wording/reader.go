package wording

import (
	"cmp"
	"math"
	"slices"
)

// A text is read through two lenses at once: a wide one for its manner as a whole, and a
// narrow one for a passage that a long text would wash out. Each is a window, in tokens,
// which moves on by half of its size, and of each the worst window counts.
const (
	wide   = 800
	narrow = 200
	// Both have the same say. Each further window is one more chance to
	// look bad by accident, which its logarithm makes up for. Fitted to unseen samples.
	narrowShare = 0.5
	byChance    = 0.3
)

// Place is a line of a file.
type Place struct {
	Path string
	Line int
}

// Weighed is a line and how much it adds to the score of its window.
type Weighed struct {
	Place
	Weight float64
}

// Reading is what a model makes of a text.
type Reading struct {
	// Score is above 0 for what reads rather like a harmful bundle. It is the logarithm
	// of odds that are not calibrated: compare it, do not take it for a probability.
	Score float64
	// Tokens is how long the text is.
	Tokens int
	// Lines are those that weigh most in the worst narrow window, heaviest first, at
	// most five.
	Lines []Weighed
}

const maxLines = 5

// Reader reads a text line by line and holds two windows of it.
type Reader struct {
	model  *Model
	wide   lens
	narrow lens
	line   Place
	last   []byte // the token before
	pair   []byte // scratch
	tokens int
}

// NewReader begins a text.
func (m *Model) NewReader() *Reader {
	return &Reader{model: m, wide: newLens(m, wide), narrow: newLens(m, narrow)}
}

// Line reads the next line of the text. A pair may reach over the end of a line, as a
// sentence does, but not from one file into the next.
func (r *Reader) Line(place Place, text string) {
	if place.Path != r.line.Path {
		r.last = r.last[:0]
	}
	r.line = place
	tokens(text, r.token)
}

func (r *Reader) token(token string) {
	features := [2]int32{unknown, unknown}
	if id, ok := r.model.index[token]; ok {
		features[0] = id
	}
	if len(r.last) > 0 {
		r.pair = append(append(append(r.pair[:0], r.last...), pairMark...), token...)
		if id, ok := r.model.index[string(r.pair)]; ok {
			features[1] = id
		}
	}
	r.last = append(r.last[:0], token...)
	r.tokens++
	r.wide.add(features, r.line)
	r.narrow.add(features, r.line)
}

// Reading ends the text. A text without a single token scores the model's bias.
func (r *Reader) Reading() Reading {
	r.wide.end()
	r.narrow.end()
	if r.tokens == 0 {
		return Reading{Score: r.model.bias}
	}
	chances := math.Log(float64(r.wide.windows)) + math.Log(float64(r.narrow.windows))
	return Reading{
		Score:  (1-narrowShare)*r.wide.worst + narrowShare*r.narrow.worst - byChance*chances,
		Tokens: r.tokens,
		Lines:  r.narrow.lines,
	}
}

// lens holds one window of the text.
type lens struct {
	model   *Model
	size    int
	held    []occurrence // the window's tokens
	places  []Place      // the lines they stand on
	fresh   int          // tokens since a window was judged
	first   []int        // by feature: 1 + its first occurrence in the window judged
	windows int
	worst   float64
	lines   []Weighed // of the worst window
}

// occurrence is one token: the features that it is and that it ends, and its line.
type occurrence struct {
	features [2]int32 // unknown where the model has none
	place    int
}

const unknown = -1

func newLens(m *Model, size int) lens {
	return lens{model: m, size: size, worst: math.Inf(-1), first: make([]int, len(m.features))}
}

func (l *lens) add(features [2]int32, line Place) {
	if len(l.places) == 0 || l.places[len(l.places)-1] != line {
		l.places = append(l.places, line)
	}
	l.held = append(l.held, occurrence{features, len(l.places) - 1})
	l.fresh++
	if len(l.held) == l.size {
		l.judge()
		l.slide()
	}
}

// slide drops the older half of the window, and the lines that only it stood on.
func (l *lens) slide() {
	l.held = append(l.held[:0], l.held[l.size/2:]...)
	gone := l.held[0].place
	l.places = append(l.places[:0], l.places[gone:]...)
	for i := range l.held {
		l.held[i].place -= gone
	}
	l.fresh = 0
}

// end judges what no window has covered yet.
func (l *lens) end() {
	if l.fresh > 0 {
		l.judge()
		l.fresh = 0
	}
}

// judge scores the window and keeps the score if it is the worst so far.
func (l *lens) judge() {
	clear(l.first)
	sum, square := 0.0, 0.0
	for i, o := range l.held {
		for _, id := range o.features {
			if id == unknown || l.first[id] > 0 {
				continue
			}
			l.first[id] = i + 1
			f := l.model.features[id]
			sum += float64(f.rarity) * float64(f.weight)
			square += float64(f.rarity) * float64(f.rarity)
		}
	}
	l.windows++
	if score := l.model.bias + sum/norm(square); score > l.worst {
		l.worst = score
		l.lines = l.heaviest(norm(square))
	}
}

// heaviest sums the weights of the window's features by the line that has them first.
func (l *lens) heaviest(length float64) []Weighed {
	lines := make([]Weighed, len(l.places))
	for i, o := range l.held {
		lines[o.place].Place = l.places[o.place]
		for _, id := range o.features {
			if id != unknown && l.first[id] == i+1 {
				f := l.model.features[id]
				lines[o.place].Weight += float64(f.rarity) * float64(f.weight) / length
			}
		}
	}
	lines = slices.DeleteFunc(lines, func(w Weighed) bool { return w.Weight <= 0 })
	slices.SortStableFunc(lines, func(a, b Weighed) int { return cmp.Compare(b.Weight, a.Weight) })
	return slices.Clone(lines[:min(len(lines), maxLines)])
}
