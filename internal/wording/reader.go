package wording

import (
	"cmp"
	"math"
	"slices"
)

// A reader's window, in tokens. A long text is read in windows which overlap by half,
// and the worst one counts: what is wrong in one chapter is not washed out by the rest.
const (
	window = 800
	stride = window / 2
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
	// Windows is how many windows were read.
	Windows int
	// Lines are those that weigh most in the worst window, heaviest first, at most five.
	Lines []Weighed
}

const maxLines = 5

// Reader reads a text line by line and holds one window of it.
type Reader struct {
	model  *Model
	held   []occurrence // the window's tokens
	places []Place      // the lines they stand on
	line   Place        // the line being read
	begun  bool         // line is the last of places
	last   []byte       // the token before
	pair   []byte       // scratch
	fresh  int          // tokens since a window was judged
	first  []int        // by feature: 1 + its first occurrence in the window judged
	best   Reading
}

// occurrence is one token: the features that it is and that it ends, and its line.
type occurrence struct {
	features [2]int32 // unknown where the model has none
	place    int
}

const unknown = -1

// NewReader begins a text.
func (m *Model) NewReader() *Reader {
	return &Reader{model: m, best: Reading{Score: math.Inf(-1)}, first: make([]int, len(m.features))}
}

// Line reads the next line of the text. A pair may reach over the end of a line, as a
// sentence does, but not from one file into the next.
func (r *Reader) Line(place Place, text string) {
	if place.Path != r.line.Path {
		r.last = r.last[:0]
	}
	r.line, r.begun = place, false
	tokens(text, r.token)
}

func (r *Reader) token(token string) {
	if !r.begun {
		r.places, r.begun = append(r.places, r.line), true
	}
	o := occurrence{features: [2]int32{unknown, unknown}, place: len(r.places) - 1}
	if id, ok := r.model.index[token]; ok {
		o.features[0] = id
	}
	if len(r.last) > 0 {
		r.pair = append(append(append(r.pair[:0], r.last...), pairMark...), token...)
		if id, ok := r.model.index[string(r.pair)]; ok {
			o.features[1] = id
		}
	}
	r.last = append(r.last[:0], token...)
	r.held = append(r.held, o)
	r.fresh++
	if len(r.held) == window {
		r.judge()
		r.slide()
	}
}

// slide drops the older half of the window, and the lines that only it stood on.
func (r *Reader) slide() {
	r.held = append(r.held[:0], r.held[stride:]...)
	gone := r.held[0].place
	r.places = append(r.places[:0], r.places[gone:]...)
	for i := range r.held {
		r.held[i].place -= gone
	}
	r.fresh = 0
}

// judge scores the window and keeps the reading if it is the worst so far.
func (r *Reader) judge() {
	clear(r.first)
	sum, square := 0.0, 0.0
	for i, o := range r.held {
		for _, id := range o.features {
			if id == unknown || r.first[id] > 0 {
				continue
			}
			r.first[id] = i + 1
			f := r.model.features[id]
			sum += float64(f.rarity) * float64(f.weight)
			square += float64(f.rarity) * float64(f.rarity)
		}
	}
	length := math.Sqrt(max(square, 1))
	r.best.Windows++
	if score := r.model.bias + sum/length; score > r.best.Score {
		r.best.Score = score
		r.best.Lines = r.heaviest(length)
	}
}

// heaviest sums the weights of the window's features by the line that has them first.
func (r *Reader) heaviest(length float64) []Weighed {
	lines := make([]Weighed, len(r.places))
	for i, o := range r.held {
		lines[o.place].Place = r.places[o.place]
		for _, id := range o.features {
			if id != unknown && r.first[id] == i+1 {
				f := r.model.features[id]
				lines[o.place].Weight += float64(f.rarity) * float64(f.weight) / length
			}
		}
	}
	lines = slices.DeleteFunc(lines, func(l Weighed) bool { return l.Weight <= 0 })
	slices.SortStableFunc(lines, func(a, b Weighed) int { return cmp.Compare(b.Weight, a.Weight) })
	return slices.Clone(lines[:min(len(lines), maxLines)])
}

// Reading ends the text. A text without a single token has no window.
func (r *Reader) Reading() Reading {
	if r.fresh > 0 {
		r.judge()
		r.fresh = 0
	}
	return r.best
}
