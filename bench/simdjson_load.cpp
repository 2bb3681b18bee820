// The other side of the load benchmark: simdjson's on-demand reader filling the columns that a
// trace reader needs. Prints events, seconds and a checksum.
//
// usage: simdjson_load FILE [PASSES]
//
// Each pass loads the file (padded_string::load) and reads, of every event, name cat ph ts dur pid
// tid id args.correlation args."External id" args.stream. Memory stays with the process between
// passes, so the second and later passes meet warm pages: the best case for simdjson. The first is
// printed too, as that is what a single run pays.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace od = simdjson::ondemand;
using simdjson::error_code;

namespace {

struct interner {
	std::unordered_map<std::string_view, uint32_t> ids;
	std::vector<std::unique_ptr<std::string>> texts;

	uint32_t id(std::string_view s)
	{
		auto found = ids.find(s);
		if (found != ids.end())
			return found->second;
		texts.push_back(std::make_unique<std::string>(s));
		uint32_t n = (uint32_t)ids.size();
		ids.emplace(*texts.back(), n);
		return n;
	}
};

struct columns {
	std::vector<int64_t> ts, dur;
	std::vector<uint32_t> name, track;
	std::vector<uint64_t> correlation, external, id;
	std::vector<uint16_t> stream;
	std::vector<uint8_t> cat, ph;
	interner strings;

	void clear()
	{
		for (auto v : { &ts, &dur })
			v->clear();
		for (auto v : { &name, &track })
			v->clear();
		for (auto v : { &correlation, &external, &id })
			v->clear();
		stream.clear();
		cat.clear();
		ph.clear();
	}
};

struct event {
	int64_t ts = 0, dur = -1;
	uint64_t correlation = 0, external = 0, id = 0, pid = 0, tid = 0, stream = 0;
	std::string_view name, cat;
	uint8_t ph = 0;
};

// Kineto writes decimal microseconds.
int64_t nanoseconds(od::value value)
{
	double us;
	return value.get_double().get(us) ? 0 : std::llround(us * 1000);
}

// A number, or the hash of a text: pid and tid are either.
uint64_t number(od::value value)
{
	uint64_t u;
	int64_t i;
	std::string_view s;
	if (!value.get_uint64().get(u))
		return u;
	if (!value.get_int64().get(i))
		return (uint64_t)i;
	if (!value.get_string().get(s))
		return std::hash<std::string_view>()(s);
	return 0;
}

// Keys are compared as written: nothing is unescaped or copied.
void read_args(od::value value, event &e)
{
	od::object args;
	if (value.get_object().get(args))
		return;
	for (auto field : args) {
		od::raw_json_string key;
		od::value v;
		if (field.key().get(key) || field.value().get(v))
			return;
		switch (key.raw()[0]) {
		case 'c':
			if (key.unsafe_is_equal("correlation"))
				e.correlation = number(v);
			break;
		case 'E':
			if (key.unsafe_is_equal("External id"))
				e.external = number(v);
			break;
		case 's':
			if (key.unsafe_is_equal("stream"))
				e.stream = number(v);
			break;
		}
	}
}

std::string_view text_of(od::value value)
{
	std::string_view s;
	return value.get_string().get(s) ? std::string_view() : s;
}

void read_field(od::raw_json_string key, od::value value, event &e)
{
	if (key.unsafe_is_equal("ts")) {
		e.ts = nanoseconds(value);
	} else if (key.unsafe_is_equal("dur")) {
		e.dur = nanoseconds(value);
	} else if (key.unsafe_is_equal("name")) {
		e.name = text_of(value);
	} else if (key.unsafe_is_equal("cat")) {
		e.cat = text_of(value);
	} else if (key.unsafe_is_equal("ph")) {
		std::string_view s = text_of(value);
		e.ph = s.empty() ? 0 : (uint8_t)s[0];
	} else if (key.unsafe_is_equal("pid")) {
		e.pid = number(value);
	} else if (key.unsafe_is_equal("tid")) {
		e.tid = number(value);
	} else if (key.unsafe_is_equal("id")) {
		e.id = number(value);
	} else if (key.unsafe_is_equal("args")) {
		read_args(value, e);
	}
}

void store(columns &c, const event &e)
{
	c.ts.push_back(e.ts);
	c.dur.push_back(e.dur);
	c.name.push_back(c.strings.id(e.name));
	c.cat.push_back((uint8_t)c.strings.id(e.cat));
	c.ph.push_back(e.ph);
	c.track.push_back((uint32_t)(e.pid * 0x9e3779b1u + e.tid));
	c.correlation.push_back(e.correlation);
	c.external.push_back(e.external);
	c.id.push_back(e.id);
	c.stream.push_back((uint16_t)e.stream);
}

bool read_event(od::value element, columns &c)
{
	od::object object;
	if (element.get_object().get(object))
		return true;
	event e;
	for (auto field : object) {
		od::raw_json_string key;
		od::value value;
		if (field.key().get(key) || field.value().get(value))
			return false;
		read_field(key, value, e);
	}
	store(c, e);
	return true;
}

bool read_document(const char *path, od::parser &parser, columns &c)
{
	simdjson::padded_string text;
	od::document doc;
	od::array events;
	if (simdjson::padded_string::load(path).get(text) || parser.iterate(text).get(doc))
		return false;
	if (doc["traceEvents"].get_array().get(events))
		return false;
	for (auto element : events) {
		od::value v;
		if (element.get(v) || !read_event(v, c))
			return false;
	}
	return true;
}

uint64_t checksum(const columns &c)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < c.ts.size(); i++)
		sum = sum * 1099511628211u + (uint64_t)c.ts[i] + 3 * (uint64_t)c.dur[i] +
		      5 * c.correlation[i] + 7 * c.external[i] + c.ph[i];
	return sum;
}

double now()
{
	using clock = std::chrono::steady_clock;
	return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2) {
		std::fprintf(stderr, "usage: simdjson_load FILE [PASSES]\n");
		return 2;
	}
	int passes = argc > 2 ? std::atoi(argv[2]) : 1;
	// Freed memory is kept: the next pass finds it mapped.
	mallopt(M_MMAP_THRESHOLD, INT32_MAX);
	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	mallopt(M_MMAP_MAX, 0);
	od::parser parser;
	columns c;
	double best = 1e9, first = 0;
	for (int i = 0; i < passes; i++) {
		c.clear();
		double begin = now();
		if (!read_document(argv[1], parser, c)) {
			std::fprintf(stderr, "simdjson_load: cannot read '%s'\n", argv[1]);
			return 1;
		}
		double took = now() - begin;
		first = i ? first : took;
		best = took < best ? took : best;
	}
	std::printf("events=%zu seconds=%.6f first_seconds=%.6f checksum=%016llx kernel=%s\n",
		    c.ts.size(), best, first, (unsigned long long)checksum(c),
		    simdjson::get_active_implementation()->name().c_str());
	return 0;
}
