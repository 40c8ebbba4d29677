package opstest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/gokiln/kiln/runtime"
)

// RunShare tests operations as RunAll does, but of the parts that belong to an operation, a
// type and a layout only every n-th, from the first-th on: devices on which compilers take
// long share the work. Cases and errors are tested on each.
func RunShare(t *testing.T, dev *runtime.Device, first, n int) {
	run(t, dev, share{first: first, of: n})
}

// share is which parts are run.
type share struct{ first, of, seen int }

// part is a test of its own inside of the test of a family. Parts run at the same time, as
// what takes long are the compilers of their kernels, once the test around them is
// through: what reports errors at the next synchronisation of the device has to be in
// that. The numbers of a part depend on its name only, not on which others run.
func (b *bench) part(t *testing.T, f func(*testing.T, *bench), name string, args ...any) {
	if b.share.seen++; b.share.of > 1 && b.share.seen%b.share.of != b.share.first {
		return
	}
	t.Run(fmt.Sprintf(name, args...), func(t *testing.T) {
		t.Parallel()
		h := fnv.New64()
		h.Write([]byte(name + fmt.Sprint(args...)))
		f(t, &bench{dev: b.dev, s: b.s, rng: rand.New(rand.NewPCG(1, h.Sum64()))})
	})
}
