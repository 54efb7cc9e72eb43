//go:build race

package scanner

// raceEnabled loosens time limits, because the race detector slows everything down.
const raceEnabled = true
