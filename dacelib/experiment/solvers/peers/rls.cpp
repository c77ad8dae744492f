// Randomised local search on IOHexperimenter's OneMax of 40 bits: one random bit is
// flipped, and stays so unless that is worse. peers.py compiles and runs it:
//
//	g++ -std=c++17 -O3 -DFMT_HEADER_ONLY -I IOHexperimenter/include rls.cpp && ./a.out
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <random>

#include <fmt/format.h> // IOHexperimenter's headers of single problems need both

#include "ioh/problem/pbo/one_max.hpp"

// A search of n evaluations; it is not ended at the optimum. Returns the best value.
static double search(ioh::problem::PBO &f, int n) {
    std::mt19937_64 random(1);
    const int d = f.meta_data().n_variables;
    std::vector<int> x(d);
    for (auto &bit : x) bit = static_cast<int>(random() & 1);
    double best = f(x);
    std::uniform_int_distribution<int> place(0, d - 1);
    for (int k = 1; k < n; k++) {
        int &bit = x[place(random)];
        bit ^= 1;
        const double value = f(x);
        if (value >= best)
            best = value;
        else
            bit ^= 1;
    }
    return best;
}

int main() {
    const int n = 1'000'000;
    ioh::problem::pbo::OneMax f(1, 40);
    if (search(f, 10'000) != 40) {
        std::fprintf(stderr, "10,000 evaluations did not find the optimum\n");
        return 1;
    }
    f.reset();
    const auto begun = std::chrono::steady_clock::now();
    const std::clock_t cpu = std::clock();
    search(f, n);
    const std::chrono::duration<double> clock = std::chrono::steady_clock::now() - begun;
    std::printf("%.0f %.0f\n", n / (double(std::clock() - cpu) / CLOCKS_PER_SEC), n / clock.count());
}
