package cache

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// DefaultMax is the size cap when KILN_CACHE_MAX does not name another.
const DefaultMax = 2 << 30

var sizeUnits = []struct {
	suffix string
	bytes  float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"b", 1}, {"", 1},
}

// ParseSize reads a size such as "512MB", "1.5 GiB" or "1048576". KB, MB, GB
// and TB are powers of 1000; KiB, MiB, GiB and TiB powers of 1024.
func ParseSize(s string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(v) || v < 0 || v*u.bytes >= math.MaxInt64 {
			break
		}
		return int64(v * u.bytes), nil
	}
	return 0, fmt.Errorf("size %q: want a number of bytes, or one with a unit such as 512MB or 4GiB", s)
}
