package opstest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/gokiln/kiln/runtime"
)

// RunShare tests operations as RunAll does, but of the parts that belong to an operation, a
// type and a layout only those of the first-th of n shares: devices on which compilers take
// long share the work. Cases and errors are tested on each.
func RunShare(t *testing.T, dev *runtime.Device, first, n int) {
	run(t, dev, share{first: first, of: n})
}

// RunSome tests operations as RunAll does, but of the parts that differ in several values, such
// as the operation and the type, those with a value that none before has, and of the others one
// in [rest].
func RunSome(t *testing.T, dev *runtime.Device) {
	run(t, dev, share{of: rest, values: map[string]bool{}})
}

const rest = 8

// share is which parts are run, by the hashes of their names: which share a part is in does
// not depend on which others there are. With values it is those parts, too, that have a new one.
type share struct {
	first, of int
	values    map[string]bool // that parts have had, nil if that does not matter
}

// again is the share of another family, none of whose parts had a value.
func (s share) again() share {
	if s.values != nil {
		s.values = map[string]bool{}
	}
	return s
}

func (s share) has(hash uint64, name string, args []any) bool {
	return s.values != nil && s.new(name, args) || s.of < 2 || hash>>32%uint64(s.of) == uint64(s.first)
}

// new reports whether a part has a value that none before had at its place.
func (s share) new(name string, args []any) bool {
	before := len(s.values)
	s.values[name] = true
	for i, a := range args {
		s.values[fmt.Sprint(name, i, " ", a)] = true
	}
	return len(s.values) > before
}

// part is a test of its own inside of the test of a family. Parts run at the same time, as
// what takes long are the compilers of their kernels, once the test around them is
// through: what reports errors at the next synchronisation of the device has to be in
// that. The numbers of a part depend on its name only, not on which others run.
func (b *bench) part(t *testing.T, f func(*testing.T, *bench), name string, args ...any) {
	h := fnv.New64()
	h.Write([]byte(name + fmt.Sprint(args...)))
	seed := h.Sum64()
	if !b.share.has(seed, name, args) {
		return
	}
	t.Run(fmt.Sprintf(name, args...), func(t *testing.T) {
		t.Parallel()
		f(t, &bench{dev: b.dev, s: b.s, rng: rand.New(rand.NewPCG(1, seed))})
	})
}
