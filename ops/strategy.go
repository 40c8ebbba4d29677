package ops

import (
	"fmt"
	"math/bits"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// Strategy is one of several algorithms for an operation. P is the problem: the operands and the
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

// Strategies are the algorithms for an operation. The first one that fits is taken, so the last has
// to fit all problems.
type Strategies[P any] struct {
	rows  []Strategy[P]
	class func(p *P) Class
	tuner *jit.Tuner[string] // of names, nil if strategies cannot be measured
}

// Class is what the best strategy depends on besides the device: element types, sizes rounded to
// powers of two (see [SizeClass]), and whether strides are one.
type Class [7]int

// SizeClass rounds a size: those above 2ⁿ⁻¹ and up to 2ⁿ are n.
func SizeClass(n int) int { return bits.Len(uint(max(n, 1) - 1)) }

// rule is the first configuration of tuners: the first strategy that fits.
const rule = "rule"

// NewStrategies returns a table.
func NewStrategies[P any](rows ...Strategy[P]) *Strategies[P] { return &Strategies[P]{rows: rows} }

// Tuned has the table take, of problems of a class, the strategy that was the fastest where they
// were measured: KILN_TUNE=all measures, and choices that bundles and the cache have always count.
// It is for operations that may be repeated, which do not change what they read. The name is one of
// [jit.Tune].
func (t *Strategies[P]) Tuned(name string, class func(p *P) Class) *Strategies[P] {
	t.class, t.tuner = class, jit.Tune(name, append([]string{rule}, t.Names()...)...).OnRequest()
	return t
}

// Run does the operation with the strategy that was found to be the fastest, or the first one that
// fits.
func (t *Strategies[P]) Run(s *runtime.Stream, p *P) error {
	if t.tuner == nil {
		return t.first(s, p)
	}
	class := t.class(p)
	name, ok := t.tuner.Known(s, class[:]...)
	if !ok {
		var err error
		if name, err = t.measure(s, p, class); err != nil {
			return err
		}
	}
	return t.RunBy(s, name, p)
}

// measure finds the strategy for a class of problems, with copies of one of them.
func (t *Strategies[P]) measure(s *runtime.Stream, p *P, class Class) (string, error) {
	return t.tuner.Best(s, func(name string) error {
		problem := *p // strategies change it
		return t.RunBy(s, name, &problem)
	}, class[:]...)
}

// first does the operation with the first strategy that fits.
func (t *Strategies[P]) first(s *runtime.Stream, p *P) error {
	for i := range t.rows {
		if t.rows[i].Fits(p) {
			return t.rows[i].Run(s, p)
		}
	}
	return fmt.Errorf("none of the strategies %q fits %+v", t.Names(), *p)
}

// RunBy does the operation with the strategy of a name, whether it fits or not: for tests and
// benchmarks. No name stands for what Run takes.
func (t *Strategies[P]) RunBy(s *runtime.Stream, name string, p *P) error {
	switch name {
	case "":
		return t.Run(s, p)
	case rule:
		return t.first(s, p)
	}
	for i := range t.rows {
		if t.rows[i].Name == name {
			return t.rows[i].Run(s, p)
		}
	}
	return fmt.Errorf("there is no strategy %q, only %q", name, t.Names())
}

// Names lists the names.
func (t *Strategies[P]) Names() (names []string) {
	for i := range t.rows {
		names = append(names, t.rows[i].Name)
	}
	return names
}

// Always fits all problems.
func Always[P any](*P) bool { return true }

// Never is for strategies that are asked for by name alone: those that others are measured against.
func Never[P any](*P) bool { return false }
