package dsltest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

// swap lets every thread write what the one opposite has copied.
func swap[T dsl.Number](t dsl.Thread, x []T) {
	tile := dsl.Shared[[8]T](t)
	i := t.ThreadX()
	dsl.CopyAsync(&tile[i], &x[t.Global()])
	dsl.CopyWait()
	t.Sync()
	x[t.Global()] = tile[7-i]
}

func TestCopies(t *testing.T) {
	x := []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	want := slices.Clone(x)
	slices.Reverse(want[:8])
	slices.Reverse(want[8:])
	require.NoError(t, dsltest.Run(dsl.D1(2), dsl.D1(8), func(t dsl.Thread) { swap(t, x) }))
	require.Equal(t, want, x)
}

// edges lets every thread write what the one opposite has copied, zeros behind the end.
func edges(t dsl.Thread, out, x []uint8) {
	tile := dsl.Shared[[16]uint8](t)
	i, v := t.ThreadX(), t.Global()
	dsl.CopyVecAsyncOrZero[[2]uint8](tile[:], i, x, v, 2*v+2 <= len(x))
	dsl.CopyCommit()
	dsl.CopyWaitGroups(0)
	t.Sync()
	dsl.StoreVec(out, v, dsl.LoadVec[[2]uint8](tile[:], 7-i))
}

func TestVectorCopies(t *testing.T) {
	out, x := make([]uint8, 32), make([]uint8, 21)
	for i := range x {
		x[i] = uint8(i + 1)
	}
	require.NoError(t, dsltest.Run(dsl.D1(2), dsl.D1(8), func(t dsl.Thread) { edges(t, out, x) }))
	want := []uint8{15, 16, 13, 14, 11, 12, 9, 10, 7, 8, 5, 6, 3, 4, 1, 2, 28: 19, 20, 17, 18}
	require.Equal(t, want, out)
}
