package artifact

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/jit/record"
)

// TunedKey is the key of what was chosen for some work, where c says which; what was chosen does
// not count. A choice without a device is for all devices of the target.
func TunedKey(c record.Choice) cache.Key {
	parts := []string{"tuned", c.Tuned, c.Target, c.Device, atText(c.At)}
	return cache.NewKey(append(parts, c.Of...)...)
}

// TunedEntry is the entry of a choice. It is no code for a target, so that a bundle has it
// where every device looks.
func TunedEntry(c record.Choice) *cache.Entry {
	where := c.Device
	if where == "" {
		where = "any device"
	}
	build := "on " + where
	if at := atText(c.At); at != "" {
		build = "at " + at + " " + build
	}
	return &cache.Entry{
		Header: cache.Header{Kind: cache.KindTuned, Kernel: c.Tuned, Types: c.Best, Build: build + ", " + c.Target, Tool: Tool},
		Body:   []byte(c.String()),
	}
}

// ReadTuned reads the entry that [TunedEntry] made.
func ReadTuned(e *cache.Entry) (record.Choice, error) {
	if e.Kind != cache.KindTuned {
		return record.Choice{}, fmt.Errorf("an entry of kind %s, want %s", e.Kind, cache.KindTuned)
	}
	return record.ParseChoice(e.Body)
}

func atText(at []int) string {
	list := make([]string, len(at))
	for i, n := range at {
		list[i] = strconv.Itoa(n)
	}
	return strings.Join(list, ",")
}
