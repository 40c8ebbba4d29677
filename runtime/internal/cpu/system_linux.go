package cpu

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// systemMemory returns the machine's memory and what is available of it, 0
// for what is not known.
func systemMemory() (total, available int64) {
	fields := readFields("/proc/meminfo", "MemTotal", "MemAvailable")
	return kilobytes(fields["MemTotal"]), kilobytes(fields["MemAvailable"])
}

func kilobytes(s string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(s, " kB"), 10, 64)
	return n << 10
}

func modelName() string {
	if name := readFields("/proc/cpuinfo", "model name")["model name"]; name != "" {
		return name
	}
	return "CPU"
}

// readFields reads the first value of each key from a file of "key: value" lines.
func readFields(path string, keys ...string) map[string]string {
	found := map[string]string{}
	f, err := os.Open(path)
	if err != nil {
		return found
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan() && len(found) < len(keys); {
		key, value, _ := strings.Cut(sc.Text(), ":")
		key = strings.TrimSpace(key)
		for _, want := range keys {
			if _, have := found[key]; key == want && !have {
				found[key] = strings.TrimSpace(value)
			}
		}
	}
	return found
}
