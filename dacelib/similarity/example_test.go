package similarity_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/similarity"
)

// Twelve targets of OneMax in three groups, of which the values know: 12 of 12 have
// their nearest neighbour in their own group.
func Example() {
	targets, groups := []problem.Problem{}, []string{}
	for i := range 12 {
		target := onemax.Random(uint64(i%3), 30).Target()
		for _, j := range run.Rand(1, "example: target", i).Perm(30)[:4] {
			target[j] = !target[j]
		}
		p, _ := onemax.New(fmt.Sprint("target ", i), target)
		targets, groups = append(targets, p), append(groups, fmt.Sprint(i%3))
	}
	m, err := similarity.Of(context.Background(), targets, similarity.Settings{})
	hits, chance, _ := m.SameGroup(groups)
	fmt.Printf("%d of %d (by chance %.1f) %v\n", hits, len(targets), chance, err)
	// Output: 12 of 12 (by chance 3.3) <nil>
}

// Sixteen instances of three classes. What a bit means differs from instance to
// instance, so that values need not correlate; landscapes tell the classes apart.
func Example_classes() {
	var instances []problem.Problem
	classes := []string{"OneMax", "OneMax", "CCP", "MAX-SAT"}
	var groups []string
	for i := range 16 {
		p := []problem.Problem{onemax.Random(uint64(i), 40), onemax.Random(uint64(i), 40), nil, nil}
		p[2], _ = ccp.Class().Test(1, 40, i)
		p[3], _ = classic.RandomMaxSat(uint64(i), 40)
		instances, groups = append(instances, p[i%4]), append(groups, classes[i%4])
	}
	m, err := similarity.Of(context.Background(), instances, similarity.Settings{Measure: similarity.Landscape})
	hits, chance, _ := m.SameGroup(groups)
	fmt.Printf("%d of %d (by chance %.1f) %v\n", hits, len(instances), chance, err)
	// Output: 16 of 16 (by chance 5.3) <nil>
}

// Fourteen knapsacks: seven days of one shop and seven of another. Prices differ a
// little from day to day.
func Example_variants() {
	days, shops := []problem.Problem{}, []string{}
	for i := range 14 {
		shop, day, value, weight := run.Rand(uint64(i%2), "shop"), run.Rand(1, "day", i), [30]int{}, [30]int{}
		for j := range value {
			value[j], weight[j] = 10+shop.IntN(90)+day.IntN(20), 10+shop.IntN(90)
		}
		p, _ := classic.Knapsack(fmt.Sprint("day ", i), value[:], weight[:], 800)
		days, shops = append(days, p), append(shops, fmt.Sprint("shop ", i%2))
	}
	m, err := similarity.Of(context.Background(), days, similarity.Settings{})
	hits, chance, _ := m.SameGroup(shops)
	fmt.Printf("%d of %d (by chance %.1f) %v\n", hits, len(days), chance, err)
	// Output: 14 of 14 (by chance 6.5) <nil>
}

// Groups that nobody has named, and how well they hold together.
func ExampleMatrix_Link() {
	var targets []problem.Problem
	for i := range 8 {
		target := onemax.Random(uint64(i/4), 30).Target()
		target[i] = !target[i]
		p, _ := onemax.New(fmt.Sprint("target ", i), target)
		targets = append(targets, p)
	}
	m, err := similarity.Of(context.Background(), targets, similarity.Settings{})
	groups, err := m.Link(similarity.Average).Cut(2)
	mean, _, err := m.Silhouette(groups)
	fmt.Println(groups[0], groups[3], groups[4], groups[7])
	fmt.Printf("silhouette %.1f, nearest to target 0: %s %v\n", mean, m.Nearest(0, 1)[0].Name, err)
	// Output:
	// group 1 group 1 group 2 group 2
	// silhouette 0.6, nearest to target 0: target 2 <nil>
}

// Distances of embeddings mean something if training was asked for that.
func ExampleEmbeddings() {
	instances := []problem.Problem{onemax.Random(1, 12), onemax.Random(2, 12), onemax.Random(3, 12)}
	for _, weight := range []float64{0, 1} {
		s := nir.Settings{Samples: 1000, Steps: 20, Batch: 16, NormaliseSample: 1000, DistanceWeight: weight}
		model, err := nir.Train(context.Background(), instances, s)
		fmt.Printf("weight %v: %q %v\n", weight, similarity.Embeddings(model).Caution, err)
	}
	// Output:
	// weight 0: "distances of these embeddings are not similarities (trained without DistanceWeight)" <nil>
	// weight 1: "" <nil>
}
