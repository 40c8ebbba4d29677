package dump

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// Selection says which kernels to write pages of, and where.
type Selection struct {
	Names []string // functions, package.function with or without type arguments, or "*"
	Dir   string   // "" is the current directory
}

// FromEnv reads KILN_DUMP and KILN_DUMP_DIR.
func FromEnv(getenv func(string) string) Selection {
	s := Selection{Dir: getenv("KILN_DUMP_DIR")}
	for _, name := range strings.Split(getenv("KILN_DUMP"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			s.Names = append(s.Names, name)
		}
	}
	return s
}

// Wants reports whether a kernel is selected: a package path and a function,
// with or without type arguments in brackets and compile-time values in braces.
func (s Selection) Wants(kernel string) bool {
	plain, _, _ := strings.Cut(kernel, "{")
	bare, _ := cutInstance(kernel)
	full := path.Base(bare) // package.Func
	fn := full[strings.LastIndexByte(full, '.')+1:]
	types := plain[len(bare):]
	for _, name := range s.Names {
		switch name {
		case "*", fn, full, bare, fn + types, full + types, plain, kernel:
			return true
		}
	}
	return false
}

// cutInstance splits a kernel into package and function, and what makes it an
// instance.
func cutInstance(kernel string) (bare, instance string) {
	if i := strings.IndexAny(kernel, "[{"); i >= 0 {
		return kernel[:i], kernel[i:]
	}
	return kernel, ""
}

// written keeps the file names of this process, so that kernels of equal name in
// packages of equal name do not overwrite each other.
var written struct {
	sync.Mutex
	by map[string]string // file -> kernel and target
}

// Write writes the page to a file of its own and returns the file's name.
func (s Selection) Write(p *Page) (string, error) {
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		return "", err
	}
	dir := s.Dir
	if dir == "" {
		dir = "."
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("writing page of %s: %w", p.Kernel, err)
	}
	file := filepath.Join(dir, claim(dir, p))
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("writing page of %s: %w", p.Kernel, err)
	}
	return file, nil
}

// claim chooses the file's name.
func claim(dir string, p *Page) string {
	base, owner := FileName(p), p.Kernel+" "+p.Target.String()
	written.Lock()
	defer written.Unlock()
	if written.by == nil {
		written.by = map[string]string{}
	}
	name := base
	for n := 2; ; n++ {
		key := filepath.Join(dir, name)
		if by, taken := written.by[key]; !taken || by == owner {
			written.by[key] = owner
			return name
		}
		name = strings.TrimSuffix(base, ".html") + fmt.Sprintf("-%d.html", n)
	}
}

// FileName names a page after the kernel instance and the target, in letters
// that every file system takes: kernels.SwiGLU-float32.ptx-sm_90.html. Of a long
// name it has the beginning and a hash of all of it.
func FileName(p *Page) string {
	bare, instance := cutInstance(p.Kernel)
	name, end := path.Base(bare)+dashed("-"+instance), "."+dashed(p.Target.String())+".html"
	if len(name)+len(end) > longestName {
		end = fmt.Sprintf("-%.6x", sha256.Sum256([]byte(name))) + end
		name = name[:longestName-len(end)]
	}
	return name + end
}

// longestName bounds the names of files: with a number added they fit in the 255 bytes that
// file systems take.
const longestName = 240

// dashed has one dash for each run of other letters, and none at the end.
func dashed(s string) string {
	var b strings.Builder
	dash := false
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_':
			if dash {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
		default:
			dash = true
		}
	}
	return b.String()
}
