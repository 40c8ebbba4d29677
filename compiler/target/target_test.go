package target

import (
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseRoundTrip(t *testing.T) {
	for _, want := range All() {
		got, err := Parse(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Contains(t, []int{32, 64}, got.WarpSize)
	}
}

func TestParseErrors(t *testing.T) {
	for _, s := range []string{"", "gpu", "ptx", "ptx:sm_60", "ptx:sm_90 ", "cpu:x", "hip:gfx1", "hip"} {
		_, err := Parse(s)
		require.Error(t, err, s)
		require.Regexp(t, "ptx|known are gfx900", err.Error())
	}
}

func TestForCUDA(t *testing.T) {
	for _, c := range []struct {
		major, minor int
		want         string
	}{
		{7, 0, "sm_70"}, {7, 2, "sm_72"}, {7, 5, "sm_75"}, {8, 0, "sm_80"}, {8, 9, "sm_89"}, {9, 0, "sm_90"},
		{10, 0, "sm_100"}, {10, 1, "sm_100"}, {12, 0, "sm_120"}, {13, 5, "sm_121"},
	} {
		got, err := ForCUDA(c.major, c.minor)
		require.NoError(t, err)
		require.Equal(t, c.want, got.Arch)
		require.False(t, got.Exclusive)
	}
	_, err := ForCUDA(6, 1)
	require.ErrorContains(t, err, "6.1 is not supported; the oldest supported is 7.0")
}

func TestTable(t *testing.T) {
	require.True(t, sort.SliceIsSorted(archs, func(i, j int) bool { return archs[i].cc < archs[j].cc }))
	for _, a := range archs {
		require.NotZero(t, a.version, a.name)
		require.GreaterOrEqual(t, a.optShared, 48, a.name)
	}
}
