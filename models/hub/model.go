package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// DefaultQuant is the type of weights that is taken of GGUF files if none is asked for.
const DefaultQuant = "Q4_K_M"

// Model downloads what a model needs, and returns what package models opens: a folder, or a GGUF
// file. A name is that of a repository, org/name, with @revision behind it for another branch, tag
// or commit than main, and :part for a file of the repository or the type of a GGUF file's weights,
// such as org/name-GGUF:Q4_K_M.
//
// Of a repository with config.json it takes configuration, tokenizer and weights: safetensors
// files, or else those of PyTorch. Of one with GGUF files it takes one of them, in all its parts.
// Progress may be nil; it is called as bytes come, as in [Options].
func (c *Client) Model(
	ctx context.Context, name string, progress func(done, all int64),
) (string, error) {
	n, err := ParseName(name)
	if err != nil {
		return "", err
	}
	s, err := c.Files(ctx, n.Repo, n.Revision)
	if err != nil {
		return "", err
	}
	p, err := s.model(ctx, n.Part, progress)
	if err != nil {
		return "", fmt.Errorf("hub: %s: %w", name, err)
	}
	return p, nil
}

// model downloads a model, and returns what is to be opened.
func (s *Snapshot) model(
	ctx context.Context, part string, progress func(done, all int64),
) (string, error) {
	named := s.choose(func(f *File) bool { return f.Path == part })
	configs := s.choose(func(f *File) bool {
		return f.Path == "config.json" || f.Path == "adapter_config.json"
	})
	if len(named) > 0 && !isGGUF(part) ||
		part == "" && len(configs) > 0 && len(s.choose(isWeights)) > 0 {
		return s.modelFolder(ctx, named, progress)
	}
	one, err := s.pickGGUF(part)
	if err != nil {
		return "", err
	}
	first := splitOf(one.Path)
	list := s.choose(func(f *File) bool { return splitOf(f.Path) == first })
	return s.place(list[0]), s.fetch(ctx, list, progress)
}

// modelFolder downloads configuration, tokenizer and weights, those that are named if any are.
func (s *Snapshot) modelFolder(
	ctx context.Context, named []*File, progress func(done, all int64),
) (string, error) {
	beside := []string{".json", ".jinja", ".model", ".txt", ".tiktoken"}
	list := s.choose(func(f *File) bool {
		return !strings.Contains(f.Path, "/") && slices.Contains(beside, path.Ext(f.Path)) ||
			moduleName.MatchString(f.Path)
	})
	if err := s.fetch(ctx, list, nil); err != nil {
		return "", err
	}
	if len(named) > 0 {
		return s.place(named[0]), s.fetch(ctx, named, progress)
	}
	weights, err := s.weights()
	if err != nil {
		return "", err
	}
	return s.Dir, s.fetch(ctx, weights, progress)
}

func isWeights(f *File) bool {
	return weightsName.MatchString(f.Path)
}

// weights are the files with weights that package models would open: those of an index, or one
// alone, or all.
func (s *Snapshot) weights() ([]*File, error) {
	for _, name := range []string{"model.safetensors", "pytorch_model.bin"} {
		index := s.choose(func(f *File) bool { return f.Path == name+".index.json" })
		if len(index) > 0 {
			return s.indexed(index[0])
		}
		if one := s.choose(func(f *File) bool { return f.Path == name }); len(one) > 0 {
			return one, nil
		}
		all := s.choose(func(f *File) bool { return isWeights(f) && path.Ext(f.Path) == path.Ext(name) })
		if len(all) > 0 {
			return all, nil
		}
	}
	return nil, nil
}

// indexed are the files that an index names.
func (s *Snapshot) indexed(index *File) ([]*File, error) {
	b, err := os.ReadFile(s.place(index))
	if err != nil {
		return nil, err
	}
	var ix struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(b, &ix); err != nil {
		return nil, fmt.Errorf("%s: %w", index.Path, err)
	}
	wanted := map[string]bool{}
	for name := range maps.Values(ix.Files) {
		wanted[name] = true
	}
	list := s.choose(func(f *File) bool { return wanted[f.Path] })
	if len(list) < len(wanted) {
		return nil, fmt.Errorf("%w: %s names %d files, of which there are %d", ErrNotFound,
			index.Path, len(wanted), len(list))
	}
	return list, nil
}

var (
	weightsName = regexp.MustCompile(`^([^/]*\.safetensors|pytorch_model[^/]*\.bin|adapter_model\.bin)$`)

	// moduleName is a file of what sentence-transformers has behind a network, such as 2_Dense.
	moduleName = regexp.MustCompile(`^\d+_\w+/(config\.json|model\.safetensors|pytorch_model\.bin)$`)

	splitName = regexp.MustCompile(`-\d{5}-of-(\d{5}\.gguf)$`)
	quantName = regexp.MustCompile(
		`(?i)(?:^|[-./_])((?:UD-)?(?:I?Q\d\w*|TQ\d_\d|MXFP4\w*|NVFP4|BF16|F16|F32))$`)
)

func isGGUF(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".gguf") }

// splitOf is the name that all parts of a GGUF file share.
func splitOf(name string) string { return splitName.ReplaceAllString(name, "-$1") }

// pickGGUF finds a GGUF file by its name, or by the type of its weights.
func (s *Snapshot) pickGGUF(part string) (*File, error) {
	seen := map[string]bool{}
	list := s.choose(func(f *File) bool {
		n := splitOf(f.Path)
		first := isGGUF(n) && !seen[n] && !strings.HasPrefix(path.Base(n), "mmproj")
		seen[n] = true
		return first || f.Path == part && isGGUF(part)
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no config.json with weights, and no GGUF file", ErrNotFound)
	}
	var fit []*File
	for _, f := range list {
		is := quant(f)
		switch want := cmp.Or(part, DefaultQuant); {
		case f.Path == part, part == "" && len(list) == 1:
			return f, nil
		case strings.EqualFold(strings.TrimPrefix(is, "UD-"), want), strings.EqualFold(is, want):
			fit = append(fit, f)
		}
	}
	if len(fit) > 1 { // those of another kind of mixture have longer names
		slices.SortStableFunc(fit, func(a, b *File) int { return len(quant(a)) - len(quant(b)) })
		if quant(fit[0]) != quant(fit[1]) {
			fit = fit[:1]
		}
	}
	if len(fit) == 1 {
		return fit[0], nil
	}
	var have []string
	for _, f := range list {
		have = append(have, cmp.Or(quant(f), f.Path))
	}
	if len(fit) > 1 {
		for have = nil; len(fit) > 0; fit = fit[1:] {
			have = append(have, fit[0].Path)
		}
	}
	slices.Sort(have)
	return nil, fmt.Errorf("%w: want one of %s behind a colon, not %q", ErrName,
		strings.Join(slices.Compact(have), ", "), part)
}

// quant is the type of weights that is in the name of a file, in capitals, or "".
func quant(f *File) string {
	name := strings.TrimSuffix(splitOf(f.Path), path.Ext(f.Path))
	if splitOf(f.Path) != f.Path {
		name = name[:strings.LastIndexByte(name, '-')]
	}
	if m := quantName.FindStringSubmatch(name); m != nil {
		return strings.ToUpper(m[1])
	}
	return ""
}
