package driver

import (
	"regexp"
	"strconv"
	"strings"
)

var goPlace = regexp.MustCompile(`//\s*(\S+\.go:\d+)`)

// GoLines adds the Go line to what a vendor's compiler says about a line of the text,
// which the compiler calls name. The text has it in comments such as
// "// saxpy.go:12", where it was made with them: the nearest one above, or on the line
// itself, counts.
func GoLines(log, name, text string) string {
	lines := strings.Split(text, "\n")
	places := make([]string, len(lines)+1)
	for i, line := range lines {
		places[i+1] = places[i]
		if m := goPlace.FindStringSubmatch(line); m != nil {
			places[i+1] = m[1]
		}
	}
	var b strings.Builder
	for line := range strings.Lines(log) {
		b.WriteString(line)
		rest, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, ":")
		if n, err := strconv.Atoi(number); err == nil && n > 0 && n < len(places) && places[n] != "" {
			out := strings.TrimRight(b.String(), "\n")
			b.Reset()
			b.WriteString(out + " [" + places[n] + "]\n")
		}
	}
	return b.String()
}
