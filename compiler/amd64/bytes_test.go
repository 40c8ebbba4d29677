package amd64

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wholeOf is the code for blocks of whole vectors.
func wholeOf(t *testing.T, name, text string) string {
	t.Helper()
	code := codeOf(t, name, text)
	_, whole, ok := strings.Cut(code, "# for blocks whose rows of threads along x are cut into vectors")
	require.True(t, ok, code)
	return whole
}

// Two neighbouring halves of a word are one load, whatever else is added to their indices; others, and
// those between which memory changes, are not.
func TestHalvesOfWord(t *testing.T) {
	const text = `module "k.Halves"

kernel @Halves(%0: ptr<global,u32>, %1: i64, %2: ptr<global,u16>, %3: i64, %4: i64) args(out slice u32 "[]uint32", h slice u16 "[]uint16", n scalar i64 "int") {
b0:
  %5 = lane : i64
  %6 = const 2 : i64
  %7 = const NEXT : i64
  %8 = const BITS : u32
  %9 = mul %5, %6 : i64
  %10 = add %9, %4 : i64
  bounds %10, %3
  %11 = offset %2, %10 : ptr<global,u16>
  %12 = load %11 : u16
  %13 = add %4, %7 : i64
  %14 = add %13, %9 : i64
  bounds %14, %3
  %15 = offset %2, %14 : ptr<global,u16>
  %21 = offset %0, %5 : ptr<global,u32>
  MORE
  %16 = load %15 : u16
  %17 = convert %12 : u32
  %18 = convert %16 : u32
  %19 = shl %18, %8 : u32
  %20 = or %17, %19 : u32
  store %21, %20
  ret
}
`
	for _, c := range []struct {
		next, bits, more string
		joined           bool
	}{
		{"1", "16", "", true},
		{"2", "16", "", false},
		{"-1", "16", "", false},
		{"1", "8", "", false},
		{"1", "16", "store %21, %8", false},
	} {
		text := strings.NewReplacer("NEXT", c.next, "BITS", c.bits, "  MORE\n", "  "+c.more+"\n", "  \n", "").Replace(text)
		for _, name := range []string{"amd64:avx2", "amd64:avx512"} {
			code := wholeOf(t, name, text)
			assert.Equal(t, c.joined, !strings.Contains(code, "vpgather"), "%s %+v\n%s", name, c, code)
		}
	}
}

// A lookup in a table of 16 bytes, which is seven permutations of constants, is one instruction; with
// other selectors it is as many as it says.
func TestLookups(t *testing.T) {
	const text = `module "k.Lookup"

kernel @Lookup(%0: ptr<global,u32>, %1: i64) args(x slice u32 "[]uint32") {
b0:
  %2 = thread 0 : i64
  %3 = offset %0, %2 : ptr<global,u32>
  %4 = load %3 : u32
  %5 = const 2004318071 : u32
  %6 = const 2290649224 : u32
  %7 = const 1 : u32
  %8 = const 842150450 : u32
  %9 = const 839922192 : u32
  %10 = const 16 : u32
  %11 = const 67305985 : u32
  %12 = const 134678021 : u32
  %13 = and %4, %5 : u32
  %14 = and %4, %6 : u32
  %15 = shr %14, %7 : u32
  %16 = or %15, %9 : u32
  %17 = permute %11, %12, %13 : u32
  %18 = permute %12, %11, %13 : u32
  %19 = permute %17, %18, %16 : u32
  %20 = shr %13, %10 : u32
  %21 = shr %16, %10 : u32
  %22 = permute %11, %12, %20 : u32
  %23 = permute %12, OTHER, %20 : u32
  %24 = permute %22, %23, %21 : u32
  %25 = const SELECTOR : u32
  %26 = permute %19, %24, %25 : u32
  store %3, %26
  ret
}
`
	for _, c := range []struct {
		other, selector string
		is              bool
	}{
		{"%11", "25632", true}, // 0x6420
		{"%11", "30001", true}, // 0x7531
		{"%11", "12816", false},
		{"%12", "25632", false},
		{"%4", "25632", false},
	} {
		text := strings.NewReplacer("OTHER", c.other, "SELECTOR", c.selector).Replace(text)
		for _, name := range []string{"amd64:avx2", "amd64:avx512"} {
			code := codeOf(t, name, text)
			assert.Equal(t, c.is, strings.Count(code, "\tvpshufb ") <= 2, "%s %+v\n%s", name, c, code) // of whole vectors and of others
		}
	}
}

// Indices of lanes that constants tell are not compared with a constant length which they are below. A
// number that all lanes have is converted from half precision once, and numbers of lanes that shuffles
// in a loop take are loaded in front of it.
func TestLanesInLoop(t *testing.T) {
	const text = `module "k.Loop"

kernel @Loop(%0: ptr<global,f32>, %1: i64, %2: ptr<global,u16>, %3: i64, %4: i64) args(x slice f32 "[]float32", h slice u16 "[]uint16", n scalar i64 "int") {
b0:
  %5 = lane : i64
  %6 = const 0 : i64
  %7 = const 1 : i64
  %8 = const LENGTH : i64
  %9 = const 4 : i64
  %10 = add %5, %9 : i64
  jump b1(%6)
b1(%11: i64):
  %12 = lt %11, %4 : bool
  br %12, b2, b3
b2:
  %13 = offset %2, %11 : ptr<global,u16>
  %14 = load %13 : u16
  %15 = bitcast %14 : f16
  %16 = convert %15 : f32
  bounds %10, %8
  %17 = offset %0, %10 : ptr<global,f32>
  %18 = load %17 : f32
  %19 = xor %5, %9 : i64
  %20 = shfl.idx %18, %19 : f32
  %21 = mul %20, %16 : f32
  store %17, %21
  %22 = add %11, %7 : i64
  jump b1(%22)
b3:
  ret
}
`
	code := func(length string) string {
		return wholeOf(t, "amd64:avx512", strings.ReplaceAll(text, "LENGTH", length))
	}
	inside := code("20")
	assert.NotContains(t, inside, "failed check")
	assert.Contains(t, code("19"), "failed check")
	assert.Contains(t, inside, "vcvtph2ps xmm")
	assert.NotContains(t, inside, "vpmovdw")
	load, loop := strings.Index(inside, "zmmword ptr [rip + pool"), strings.Index(inside, "vcvtph2ps")
	assert.True(t, 0 <= load && load < loop && !strings.Contains(inside[loop:], "[rip + pool"), inside)
}
