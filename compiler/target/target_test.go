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
		require.Contains(t, []int{8, 16, 32, 64}, got.WarpSize)
	}
}

func TestParseErrors(t *testing.T) {
	for _, s := range []string{"", "gpu", "ptx", "ptx:sm_60", "ptx:sm_90 ", "cpu:x", "cpu:warp7", "cpu:warp+8", "amd64:sse", "hip:gfx1", "hip"} {
		_, err := Parse(s)
		require.Error(t, err, s)
		require.Regexp(t, "ptx|known are gfx900|known are x86-64-v3, x86-64-v4", err.Error())
	}
}

func TestParseWithoutArchitecture(t *testing.T) {
	_, err := Parse("hip")
	require.ErrorContains(t, err, `target "hip" names no architecture: write it as in hip:gfx942; known are gfx900`)
	_, err = Parse("hip:gfx1")
	require.ErrorContains(t, err, `unknown architecture "gfx1"`)
}

func TestCPU(t *testing.T) {
	for text, want := range map[string]struct {
		kind, name string
		warp       int
	}{
		"cpu":           {Interp, "cpu", 32},
		"cpu:warp32":    {Interp, "cpu", 32},
		"cpu:warp16":    {Interp, "cpu:warp16", 16},
		"cpu:x86-64-v3": {Native, "cpu:x86-64-v3", 8},
		"cpu:x86-64-v4": {Native, "cpu:x86-64-v4", 16},
		"amd64:avx2":    {Native, "cpu:x86-64-v3", 8},
		"amd64:avx512":  {Native, "cpu:x86-64-v4", 16},
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want.kind, got.Kind, text)
		require.Equal(t, want.name, got.String(), text)
		require.Equal(t, want.warp, got.WarpSize, text)
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
		require.Greater(t, a.target().MaxShared, a.target().FixShared, a.name)
	}
}

func TestTakes(t *testing.T) {
	names := func(list []Target) (out []string) {
		for _, o := range list {
			out = append(out, o.Arch)
		}
		return out
	}
	for _, c := range []struct {
		of            string
		machine, text []string
	}{
		{"ptx:sm_70", nil, nil},
		{"ptx:sm_87", nil, []string{"sm_86", "sm_80", "sm_75", "sm_72", "sm_70"}},
		{"ptx:sm_89", []string{"sm_86", "sm_80"}, []string{"sm_87", "sm_86", "sm_80", "sm_75", "sm_72", "sm_70"}},
		{"ptx:sm_90", []string{"sm_90a"}, []string{"sm_90a", "sm_89", "sm_87", "sm_86", "sm_80", "sm_75", "sm_72", "sm_70"}},
		{"ptx:sm_103", []string{"sm_103f", "sm_103a", "sm_100f", "sm_100"}, []string{"sm_103f", "sm_103a", "sm_100f", "sm_100", "sm_90", "sm_89", "sm_87", "sm_86", "sm_80", "sm_75", "sm_72", "sm_70"}},
		{"msl:3.1", []string{"3.0", "2.4"}, []string{"3.0", "2.4"}},
		{"hip:gfx942", nil, nil},
		{"cpu:x86-64-v4", nil, nil},
	} {
		of, err := Parse(c.of)
		require.NoError(t, err)
		machine, text := of.Takes()
		require.Equal(t, c.machine, names(machine), c.of)
		require.Equal(t, c.text, names(text), c.of)
	}
}

func TestGridBarriers(t *testing.T) {
	for _, name := range []string{"cpu", "cpu:x86-64-v3", "ptx:sm_90", "cuda:sm_90", "hip:gfx942", "llvm:sm_90", "llvm:gfx1100"} {
		tgt, err := Parse(name)
		require.NoError(t, err)
		require.NoError(t, tgt.GridBarriers())
	}
	for _, name := range []string{"msl:3.2", "opencl:1.2"} {
		tgt, err := Parse(name)
		require.NoError(t, err)
		require.ErrorIs(t, tgt.GridBarriers(), ErrUnsupported)
		require.ErrorContains(t, tgt.GridBarriers(), "a barrier of the grid is not available on "+name)
	}
}
