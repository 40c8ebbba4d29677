package ops

import (
	"fmt"

	"github.com/gokiln/kiln/runtime"
)

// Strategy is one of several ways to do an operation. P is the problem: the operands and the
// properties of the device.
type Strategy[P any] struct {
	Name string

	// Fits reports whether the strategy is taken where none before it is. It says so by sizes,
	// layouts and the properties of the device.
	Fits func(p *P) bool

	// Run does the operation. Asked for by name, it may meet a problem that Fits refuses, and
	// returns an error if it cannot solve that.
	Run func(s *runtime.Stream, p *P) error
}

// Strategies are the ways to do an operation. The first one that fits is taken, so the last has to
// fit all problems.
type Strategies[P any] []Strategy[P]

// Run does the operation with the first strategy that fits.
func (t Strategies[P]) Run(s *runtime.Stream, p *P) error {
	for i := range t {
		if t[i].Fits(p) {
			return t[i].Run(s, p)
		}
	}
	return fmt.Errorf("none of the strategies %q fits %+v", t.Names(), *p)
}

// RunBy does the operation with the strategy of a name, whether it fits or not: for tests and
// benchmarks. No name stands for the first one that fits.
func (t Strategies[P]) RunBy(s *runtime.Stream, name string, p *P) error {
	if name == "" {
		return t.Run(s, p)
	}
	for i := range t {
		if t[i].Name == name {
			return t[i].Run(s, p)
		}
	}
	return fmt.Errorf("there is no strategy %q, only %q", name, t.Names())
}

// Names lists the names.
func (t Strategies[P]) Names() (names []string) {
	for i := range t {
		names = append(names, t[i].Name)
	}
	return names
}

// Always fits all problems.
func Always[P any](*P) bool { return true }

// Never is for strategies that are asked for by name alone: those that others are measured against.
func Never[P any](*P) bool { return false }
