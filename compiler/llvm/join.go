package llvm

import "strings"

// Join makes one module of the texts of several kernels with different names, for one
// target: what all have stands once.
func Join(texts []string) string {
	var out strings.Builder
	seen := map[string]bool{}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			common := strings.HasPrefix(line, "declare ") || strings.HasPrefix(line, "!") || strings.HasPrefix(line, "target ")
			if !common || !seen[line] {
				out.WriteString(line)
			}
			seen[line] = common
		}
	}
	return out.String()
}
