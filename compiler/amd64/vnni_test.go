package amd64

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// A kernel with dot products has code for processors with VNNI and for those without,
// of both mappings if it needs them; others have none.
func TestWaysForVNNI(t *testing.T) {
	const head = `module "k.Dots"

kernel @Dots(%0: ptr<global,i32>, %1: i64) args(x slice i32 "[]int32") {
b0:
  %2 = thread 0 : i64
  %3 = lane : i64
  %4 = offset %0, %2 : ptr<global,i32>
  %5 = load %4 : i32
`
	for body, want := range map[string]int{
		"  %6 = dot4 %5, %5, %5 : i32\n  store %4, %6\n  ret\n}\n": 2,
		"  %6 = add %5, %5 : i32\n  store %4, %6\n  ret\n}\n":      0,
	} {
		for name, instruction := range map[string]string{"amd64:avx2": "{vex} vpdpbusd ymm", "amd64:avx512": "vpdpbusd zmm"} {
			tgt, err := target.Parse(name)
			require.NoError(t, err)
			text := head + body
			if want == 0 {
				text = strings.ReplaceAll(text, "  %3 = lane : i64\n", "")
			}
			m, err := ir.Parse(text)
			require.NoError(t, err)
			im, list, err := Options{}.build(m, tgt)
			require.NoError(t, err)
			vnni := 0
			for _, l := range list {
				if l.vnni {
					vnni++
				}
			}
			assert.Equal(t, want, vnni)
			assert.Equal(t, want > 0, im.VNNI != nil)
			code := codeOf(t, name, text)
			assert.Equal(t, 2*want, strings.Count(code, "\t"+instruction), code)
			if want > 0 {
				assert.NotContains(t, []int{im.Rows, im.General, im.VNNI.General}, im.VNNI.Rows)
			}
		}
	}
}

// Bytes of which constants tell that they are below 128 take one instruction, and selectors of bytes
// that name no signs take the bytes alone.
func TestBytesWithoutTops(t *testing.T) {
	const head = `module "k.Dots"

kernel @Dots(%0: ptr<global,u32>, %1: i64) args(x slice u32 "[]uint32") {
b0:
  %2 = thread 0 : i64
  %3 = lane : i64
  %4 = offset %0, %2 : ptr<global,u32>
  %5 = load %4 : u32
  %6 = const 252645135 : u32
  %7 = const 4 : u32
  %8 = const 30583 : u32
  %9 = const 34952 : u32
`
	for body, want := range map[string]map[string]int{
		"  %10 = and %5, %6 : u32\n  %11 = convert %10 : i32\n  %12 = convert %5 : i32\n":                                                               {"vpdpbusd": 2},
		"  %13 = and %5, %6 : u32\n  %14 = and %5, %8 : u32\n  %10 = or %13, %14 : u32\n  %11 = convert %10 : i32\n  %12 = convert %5 : i32\n":          {"vpdpbusd": 2},
		"  %10 = and %5, %9 : u32\n  %11 = convert %10 : i32\n  %12 = convert %5 : i32\n":                                                               {"vpdpbusd": 4},
		"  %10 = shr %5, %7 : u32\n  %11 = convert %10 : i32\n  %12 = convert %5 : i32\n":                                                               {"vpdpbusd": 4},
		"  %13 = and %5, %8 : u32\n  %14 = shr %13, %7 : u32\n  %10 = permute %5, %6, %14 : u32\n  %11 = convert %10 : i32\n  %12 = convert %5 : i32\n": {"vpsubd": 2, "vpshufb": 8},
		"  %13 = or %5, %9 : u32\n  %10 = permute %5, %6, %13 : u32\n  %11 = convert %10 : i32\n  %12 = convert %5 : i32\n":                             {"vpsubd": 10, "vpshufb": 8},
	} {
		text := head + body + "  %15 = dot4 %11, %12, %12 : i32\n  %16 = convert %15 : u32\n  store %4, %16\n  ret\n}\n"
		code := codeOf(t, "amd64:avx512", text)
		for instruction, n := range want {
			assert.Equal(t, n, strings.Count(code, "\t"+instruction+" zmm"), "%s in\n%s", instruction, code)
		}
	}
}

// Nothing is added to products of bytes where 0 is, and what is added otherwise is so last.
func TestDotsFromZero(t *testing.T) {
	const text = `module "k.Dots"

kernel @Dots(%0: ptr<global,i32>, %1: i64) args(x slice i32 "[]int32") {
b0:
  %2 = thread 0 : i64
  %3 = lane : i64
  %4 = offset %0, %2 : ptr<global,i32>
  %5 = load %4 : i32
  %6 = const 0 : i32
  %7 = const 1 : i32
  %8 = dot4 %5, %5, TO : i32
  store %4, %8
  ret
}
`
	count := func(to string) int {
		code := codeOf(t, "amd64:avx512", strings.Replace(text, "TO", to, 1))
		require.Contains(t, code, "vpdpbusd")
		return strings.Count(code, "\tvpaddd zmm")
	}
	some := count("%7")
	assert.Equal(t, some, count("%5"))
	assert.Equal(t, some-2, count("%6"), "in the code for whole vectors and in that for others")
}

// Products of bytes with inverted top bits, less those of -128 in their place, are one instruction on
// processors with VNNI, which adds to a sum. What is the same in all lanes is loaded to a vector at
// once. A product that something else uses, too, is made all the same.
func TestMixedDots(t *testing.T) {
	const text = `module "k.Dots"

kernel @Dots(%0: ptr<global,u32>, %1: i64) args(x slice u32 "[]uint32") {
b0:
  %2 = thread 0 : i64
  %4 = offset %0, %2 : ptr<global,u32>
  %5 = load %4 : u32
  %6 = load %0 : u32
  %7 = convert %6 : i32
  %8 = const 2155905152 : u32
  %9 = const -2139062144 : i32
  %10 = const 0 : i32
  %11 = xor %5, %8 : u32
  %12 = convert %11 : i32
  %13 = dot4 %12, %7, %7 : i32
  %14 = dot4 %9, %7, %10 : i32
  %15 = sub %13, %14 : i32
  %16 = add %15, USED : i32
  %17 = convert %16 : u32
  store %4, %17
  ret
}
`
	for name, dot := range map[string]string{"amd64:avx2": "{vex} vpdpbusd ymm", "amd64:avx512": "vpdpbusd zmm"} {
		count := func(used, what string) int {
			return strings.Count(codeOf(t, name, strings.Replace(text, "USED", used, 1)), "\t"+what)
		}
		require.Equal(t, 1, count("%15", dot), name)
		require.Equal(t, 2, count("%15", "vpmaddwd"), name)
		inverted := strings.NewReplacer("xor %5", "add %5", "USED", "%15").Replace(text) // of a sum, which is inverted first
		require.Equal(t, 1, strings.Count(codeOf(t, name, inverted), "\t"+dot), name)
		require.Zero(t, count("%15", "movsxd"), name)
		require.Less(t, 1, count("%13", dot), name)
		require.Less(t, 1, count("%14", dot), name)
	}
}

// The vector that an integer is loaded to, which is the same in all lanes, is that of another integer of
// these bits, and not that of the floating-point number which it is converted to.
func TestSameConverted(t *testing.T) {
	const text = `module "k.Scale"

kernel @Scale(%0: ptr<global,i32>, %1: i64) args(x slice i32 "[]int32") {
b0:
  %2 = thread 0 : i64
  %4 = offset %0, %2 : ptr<global,i32>
  %5 = load %4 : i32
  %6 = load %0 : i32
  %7 = convert %5 : f32
  %8 = convert FROM : f32
  %9 = mul %7, %8 : f32
  %10 = convert %9 : i32
  store %4, %10
  ret
}
`
	for _, name := range []string{"amd64:avx2", "amd64:avx512"} {
		conversions := func(from string) int {
			code := codeOf(t, name, strings.Replace(text, "FROM", from, 1))
			return strings.Count(code, "vcvtdq2ps") + strings.Count(code, "vcvtsi2ss")
		}
		require.Equal(t, conversions("%5"), conversions("%6"), "both are converted for %s", name)
	}
}
