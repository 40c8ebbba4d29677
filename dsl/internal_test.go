package dsl

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Devices compile these where the host runs the generic body.
func TestFloatAtomicsOfDevices(t *testing.T) {
	nan := math.NaN()
	zero := math.Copysign(0, -1)
	for _, v := range [][2]float64{{1, 2}, {2, 1}, {zero, 0}, {0, zero}, {nan, 1}, {1, nan}, {-1, -1}} {
		a32, b32 := float32(v[0]), float32(v[0])
		AtomicMin(&a32, float32(v[1]))
		old := atomicMin32(&b32, float32(v[1]))
		assert.Equal(t, math.Float32bits(a32), math.Float32bits(b32), "%v", v)
		assert.Equal(t, math.Float32bits(float32(v[0])), math.Float32bits(old))

		a32, b32 = float32(v[0]), float32(v[0])
		AtomicMax(&a32, float32(v[1]))
		atomicMax32(&b32, float32(v[1]))
		assert.Equal(t, math.Float32bits(a32), math.Float32bits(b32), "%v", v)

		a64, b64 := v[0], v[0]
		AtomicMin(&a64, v[1])
		atomicMin64(&b64, v[1])
		assert.Equal(t, math.Float64bits(a64), math.Float64bits(b64), "%v", v)

		a64, b64 = v[0], v[0]
		AtomicMax(&a64, v[1])
		old64 := atomicMax64(&b64, v[1])
		assert.Equal(t, math.Float64bits(a64), math.Float64bits(b64), "%v", v)
		assert.Equal(t, math.Float64bits(v[0]), math.Float64bits(old64))
	}
}

// The tables of the digits of 2/π, for the tests outside of the package.
var (
	TwoOverPi32 = twoOverPi32
	TwoOverPi64 = twoOverPi64
)

// No float64 comes near enough to a multiple of π/2 to empty the first word,
// but the split serves any fraction.
func TestFraction64(t *testing.T) {
	for _, c := range []struct {
		f1, f0   uint64
		hi, rest float64
	}{
		{0, 0, 0, 0},
		{1 << 61, 0, 0.5, 0},
		{1 << 60, 1 << 11, 0.25, 0x1p-115},
		{0, 1 << 63, 0x1p-63, 0},
		{0, 8, 0x1p-123, 0},
		{0, math.MaxUint64 &^ 7, 0x1p-62 - 0x1p-114, 0x1p-114 - 0x1p-123},
		{1, 1, 0x1p-62, 0x1p-126},
	} {
		hi, rest := fraction64(c.f1, c.f0)
		assert.Equal(t, [2]float64{c.hi, c.rest}, [2]float64{hi, rest}, "%x:%x", c.f1, c.f0)
	}
}

func TestPackageOf(t *testing.T) {
	for function, path := range map[string]string{
		"main.init":                             "main",
		"example.com/a/b.init":                  "example.com/a/b",
		"example.com/a/b.init.0":                "example.com/a/b",
		"gopkg.in/yaml%2ev3.init":               "gopkg.in/yaml.v3",
		"github.com/x/y.(*T).Method":            "github.com/x/y",
		"github.com/x.y/z.F[...].func1":         "github.com/x.y/z",
		"odd/%zz.f":                             "odd/%zz",
		"noDot":                                 "noDot",
		"example.com/a.b/c%2ed.glob..func1.2.1": "example.com/a.b/c.d",
	} {
		assert.Equal(t, path, packageOf(function))
	}
}
