package devlog

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var logs = []*Log{
	{Kernel: "A", Sites: []Site{
		{Text: "%d %v %t\n", Values: []string{"i8", "f32", "bool"}},
		{Text: "is wrong", Place: "a.go:3", Fails: true, Check: Assert},
	}},
	{Kernel: "B", Sites: []Site{{Text: "b\n"}}},
}

func kernels(id uint32) *Log {
	if int(id) < len(logs) {
		return logs[id]
	}
	return nil
}

func words(kernel, launch, site int, block, thread [3]uint64, values ...uint64) []uint64 {
	return append([]uint64{uint64(site), uint64(kernel)<<32 | uint64(launch), block[0] | block[1]<<32, block[2] | thread[0]<<32, thread[1] | thread[2]<<32}, values...)
}

func join(lists ...[]uint64) (out []uint64) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func TestRead(t *testing.T) {
	minus := uint64(math.MaxUint64 - 2)
	half := uint64(math.Float32bits(0.5))
	list := Read(join(
		words(1, 7, 1, [3]uint64{}, [3]uint64{}),
		words(0, 6, 1, [3]uint64{1, 0, 0}, [3]uint64{0, 0, 0}, minus, half, 1),
		words(0, 6, 2, [3]uint64{0, 2, 0}, [3]uint64{3, 4, 5}),
		words(0, 6, 1, [3]uint64{1, 0, 0}, [3]uint64{0, 0, 0}, 4, half, 0), // after the other of this thread
		words(0, 6, 2, [3]uint64{0, 0, 1}, [3]uint64{}),
		make([]uint64, 20),
	), nil, kernels)
	require.Len(t, list, 5)
	assert.Equal(t, "-3 0.5 true\n", list[0].Text())
	assert.Equal(t, "4 0.5 false\n", list[1].Text())
	assert.Equal(t, [3]int{0, 2, 0}, list[2].Block)
	assert.EqualError(t, &Failure{Record: list[2]}, "a.go:3: kernel A: block (0,2,0), thread (3,4,5): assertion failed: is wrong")
	assert.Equal(t, [3]int{0, 0, 1}, list[3].Block)
	assert.Equal(t, "b\n", list[4].Text())
}

// A record belongs to the first replay that ends behind it.
func TestReadReplays(t *testing.T) {
	b := words(1, 1, 1, [3]uint64{}, [3]uint64{})
	a := words(0, 2, 2, [3]uint64{}, [3]uint64{})
	var got [][2]int
	for _, r := range Read(join(a, b, b, a, b), []uint32{10, 10, 20}, kernels) {
		got = append(got, [2]int{r.Replay, int(r.Launch)})
	}
	require.Equal(t, [][2]int{{0, 1}, {0, 2}, {2, 1}, {2, 2}, {3, 1}}, got)
}

// Nothing in the memory of a device is trusted.
func TestReadDamaged(t *testing.T) {
	good := words(1, 0, 1, [3]uint64{}, [3]uint64{})
	for name, bad := range map[string][]uint64{
		"kernel": words(9, 0, 1, [3]uint64{}, [3]uint64{}),
		"site":   words(1, 0, 2, [3]uint64{}, [3]uint64{}),
		"values": words(0, 0, 1, [3]uint64{}, [3]uint64{}, 1, 2),
		"header": good[:4],
		"none":   nil,
	} {
		assert.Len(t, Read(join(good, bad), nil, kernels), 1, name)
	}
}

func TestValues(t *testing.T) {
	for name, want := range map[string]any{
		"bool": true, "i8": int8(-2), "u8": uint8(254), "i16": int16(-2), "u16": uint16(65534), "i32": int32(-2), "u32": uint32(4294967294),
		"i64": int64(-2), "u64": uint64(math.MaxUint64 - 1),
	} {
		assert.Equal(t, want, value(name, math.MaxUint64-1), name)
	}
	assert.Equal(t, float32(0.1), value("f32", uint64(math.Float32bits(0.1))))
	assert.Equal(t, 0.1, value("f64", math.Float64bits(0.1)))
}
