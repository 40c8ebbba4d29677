package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/cache"
)

func cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "the store of compiled kernels",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return usageError{errors.New("which command of cache?")}
		},
		Long: "The cache is the directory $KILN_CACHE_DIR, or kiln in the user's cache directory.\nIt may be removed at any time: what is missing is compiled again.",
	}
	var asJSON bool
	var order string
	ls := &cobra.Command{
		Use: "ls", Short: "list the entries, most recently used first", Args: cobra.NoArgs,
		Long: "Ls lists the entries: what each is, its size, how many processes have used it since it was there (HITS,\nnot counted where the directory cannot be written), and when last, to the hour.",
		RunE: withStore(func(cmd *cobra.Command, s *cache.Store) error { return cacheList(cmd, s, order, asJSON) }),
	}
	ls.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	ls.Flags().StringVar(&order, "sort", "used", "used, hits, size or kernel")
	cmd.AddCommand(transferCommands()...)
	cmd.AddCommand(ls, gcCommand(), cacheVerifyCommand(),
		&cobra.Command{
			Use: "path", Short: "print the directory", Args: cobra.NoArgs,
			RunE: withStore(func(cmd *cobra.Command, s *cache.Store) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), s.Dir())
				return err
			}),
		},
		&cobra.Command{
			Use: "clear", Short: "remove every entry", Args: cobra.NoArgs,
			RunE: withStore(func(cmd *cobra.Command, s *cache.Store) error {
				if err := s.Clear(); err != nil {
					return fmt.Errorf("clearing the cache: %w", err)
				}
				return nil
			}),
		})
	return cmd
}

func gcCommand() *cobra.Command {
	var most string
	var age time.Duration
	cmd := &cobra.Command{
		Use: "gc", Short: "remove what was not used for longest, until the rest fits", Args: cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, s *cache.Store) error { return cacheGC(cmd, s, most, age) }),
	}
	cmd.Flags().DurationVar(&age, "age", 0, "remove what was not used for so long, such as 720h; uses are noted once an hour")
	cmd.Flags().StringVar(&most, "max", "", "size to fit, such as 512MB; default KILN_CACHE_MAX, or 2GiB")
	return cmd
}

func cacheGC(cmd *cobra.Command, s *cache.Store, most string, age time.Duration) error {
	if age != 0 {
		n := 0
		for _, e := range s.List() {
			if time.Since(e.ModTime) < age {
				continue
			}
			if err := s.Remove(e.Key); err != nil {
				return fmt.Errorf("collecting in %s: %w", s.Dir(), err)
			}
			n++
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s removed for an age of %s or more\n", count(n, "file"), age)
	}
	limit := s.Max()
	if most != "" {
		var err error
		if limit, err = cache.ParseSize(most); err != nil {
			return usageError{fmt.Errorf("-max: %w", err)}
		}
	} else if limit == 0 {
		limit = math.MaxInt64
	}
	r, err := s.GC(limit)
	fmt.Fprintf(cmd.ErrOrStderr(), "%s removed, %d bytes; %d left, %d bytes\n", count(r.Removed, "file"), r.Freed, r.Entries, r.Bytes)
	if err != nil {
		return fmt.Errorf("collecting in %s: %w", s.Dir(), err)
	}
	return nil
}

func withStore(run func(*cobra.Command, *cache.Store) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		s, err := cache.Open(cache.DefaultDir())
		if err != nil {
			return err
		}
		return run(cmd, s)
	}
}

// orders are the ways to sort a list of entries.
var orders = map[string]func(a, b cache.Info) int{
	"used": func(a, b cache.Info) int { return b.ModTime.Compare(a.ModTime) },
	"hits": func(a, b cache.Info) int { return cmp.Compare(b.Hits, a.Hits) },
	"size": func(a, b cache.Info) int { return cmp.Compare(b.Size, a.Size) },
	"kernel": func(a, b cache.Info) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Target, b.Target))
	},
}

func cacheList(cmd *cobra.Command, s *cache.Store, order string, asJSON bool) error {
	compare := orders[order]
	if compare == nil {
		return usageError{fmt.Errorf("-sort %s: want used, hits, size or kernel", order)}
	}
	list := s.List()
	slices.SortStableFunc(list, compare)
	if asJSON {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "KERNEL\tKIND\tTARGET\tBUILD\tFORMAT\tBYTES\tHITS\tUSED\tKEY")
	var total int64
	for _, e := range list {
		total += e.Size
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%.12s\n", e.Kernel, e.Kind, e.Target, e.Build, e.Format, e.Size, e.Hits, e.ModTime.Format(time.DateTime), e.Key)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s, %d bytes in %s\n", entries(len(list)), total, s.Dir())
	return nil
}
