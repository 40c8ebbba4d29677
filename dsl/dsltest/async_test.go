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
