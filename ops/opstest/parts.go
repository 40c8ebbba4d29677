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

// share is which parts are run, by the hashes of their names: which share a part is in does
// not depend on which others there are.
type share struct{ first, of int }

func (s share) has(hash uint64) bool {
	return s.of < 2 || hash>>32%uint64(s.of) == uint64(s.first)
}

// part is a test of its own inside of the test of a family. Parts run at the same time, as
// what takes long are the compilers of their kernels, once the test around them is
// through: what reports errors at the next synchronisation of the device has to be in
// that. The numbers of a part depend on its name only, not on which others run.
func (b *bench) part(t *testing.T, f func(*testing.T, *bench), name string, args ...any) {
	h := fnv.New64()
	h.Write([]byte(name + fmt.Sprint(args...)))
	seed := h.Sum64()
	if !b.share.has(seed) {
		return
	}
	t.Run(fmt.Sprintf(name, args...), func(t *testing.T) {
		t.Parallel()
		f(t, &bench{dev: b.dev, s: b.s, rng: rand.New(rand.NewPCG(1, seed))})
	})
}
