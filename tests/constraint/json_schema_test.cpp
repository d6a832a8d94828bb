// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "constraint/test_vocabulary.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

ConstraintSpec schema_spec(std::string schema) {
    ConstraintSpec spec;
    spec.kind = ConstraintKind::json_schema;
    spec.text = std::move(schema);
    return spec;
}

std::string schema_error(std::string schema) {
    return error_of(schema_spec(std::move(schema)));
}

using Texts = std::vector<const char*>;

void check_schema(const std::string& schema, const Texts& valid, const Texts& invalid) {
    auto constraint = must_make(schema_spec(schema), mixed_vocabulary());
    for (const char* text : valid) {
        INFO(schema << "\n" << text);
        CHECK(accepts(*constraint, text));
    }
    for (const char* text : invalid) {
        INFO(schema << "\n" << text);
        CHECK_FALSE(accepts(*constraint, text));
    }
}

void check_refused(const std::string& schema, const std::string& message) {
    const std::string error = schema_error(schema);
    INFO(schema << "\n" << error);
    CHECK(error.find(message) != std::string::npos);
}

}  // namespace

TEST_CASE("JSON schema: types", "[constraint][quick]") {
    check_schema("{}", {"1", "\"a\"", "null", "[1,{}]", "{\"a\":1.5}", "true"}, {"", "x", "1 2"});
    check_schema("true", {"1", "{}"}, {"x"});
    check_schema(R"({"type":"string"})", {"\"\"", "\"a\\u00e9\""}, {"1", "null"});
    check_schema(R"({"type":"integer"})", {"0", "-12"}, {"1.5", "01", "1e2", "\"1\""});
    check_schema(R"({"type":"number"})", {"0", "-1.5", "1e2"}, {"\"1\"", "+1", "1."});
    check_schema(R"({"type":"boolean"})", {"true", "false"}, {"1", "null", "True"});
    check_schema(R"({"type":["integer","null"]})", {"5", "null"}, {"5.5", "\"\""});
    check_schema(R"({"type":"object"})", {"{}", "{\"a\": [1]}"}, {"[]"});
    check_schema(R"({"type":"array"})", {"[]", "[1, \"a\"]"}, {"{}"});
}

TEST_CASE("JSON schema: objects", "[constraint][quick]") {
    check_schema(R"({"type":"object","properties":{"name":{"type":"string"},
                     "age":{"type":"integer"}},"required":["name"]})",
                 {R"({"name":"x"})", R"({"name": "x", "age": 3})", "{\n  \"name\": \"\"\n}"},
                 {"{}", R"({"age":3})", R"({"age":3,"name":"x"})", R"({"name":1})",
                  R"({"name":"x",})", R"({"name":"x","other":1})"});
    // All optional: commas stay right.
    check_schema(R"({"properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}}})",
                 {"{}", R"({"a":1})", R"({"b":2})", R"({"c":3})", R"({"a":1,"c":3})",
                  R"({"a":1, "b":2, "c":3})"},
                 {R"({,"b":2})", R"({"a":1,})", R"({"b":2,"a":1})", R"({"a":1 "b":2})"});
    check_schema(R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a","b"]})",
                 {R"({"a":1,"b":"any"})", R"({"a":1,"b":[null]})"}, {R"({"a":1})"});
    check_schema(R"({"type":"object","properties":{"a b\"c":{"const":1}}})", {R"({"a b\"c":1})"},
                 {R"({"a b":1})"});
    check_schema(R"({"type":"object","additionalProperties":{"type":"integer"}})",
                 {"{}", R"({"a":1})", R"({"x":1,"":2})"}, {R"({"a":"1"})"});
    check_schema(R"({"type":"object","properties":{"ab":{"type":"string"}},
                     "additionalProperties":{"type":"integer"}})",
                 {R"({"ab":"x","a":1})", R"({"a":1})", R"({"abc":1,"b":2})", R"({"ab":"x"})",
                  "{\"\xC3\xA9\":1}"},
                 {R"({"ab":1})", R"({"a":1,"ab":2})", R"({"a\u0062":1})"});
    check_schema(R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"a":1})"});
    check_schema(R"({"type":"object","properties":{"a":true},"additionalProperties":true})",
                 {R"({"a":1,"b":2})", R"({"zz":null})"}, {});
    check_schema(R"({"type":"object","properties":{"a":false,"b":true}})", {R"({"b":1})", "{}"},
                 {R"({"a":1})"});
    check_schema(R"({"unevaluatedProperties":false,"allOf":[{"properties":{"a":{"const":1}}}]})",
                 {R"({"a":1})"}, {R"({"b":1})"});
}

TEST_CASE("JSON schema: patternProperties and propertyNames", "[constraint][quick]") {
    check_schema(R"({"type":"object","patternProperties":{"^x_":{"type":"integer"},
                     "s$":{"type":["string","integer"]}},"additionalProperties":false})",
                 {R"({"x_a":1})", R"({"bs":"t"})", R"({"x_s":2,"ys":3})", "{}"},
                 {R"({"x_a":"t"})", R"({"x_s":"t"})", R"({"b":1})"});
    check_schema(R"({"type":"object","properties":{"x_1":{"minimum":5,"type":"number"}},
                     "patternProperties":{"^x_":{"type":"integer"}}})",
                 {R"({"x_1":7})", R"({"x_1":7,"x_2":1})"},
                 {R"({"x_1":7.5})", R"({"x_1":3})", R"({"y":1})"});
    check_schema(R"({"type":"object","propertyNames":{"pattern":"^[a-c]+$","maxLength":2},
                     "additionalProperties":{"type":"null"}})",
                 {R"({"ab":null})", "{}"}, {R"({"abc":null})", R"({"d":null})", R"({"ab":1})"});
    check_schema(R"({"type":"object","propertyNames":{"enum":["a","b"]},
                     "additionalProperties":true})",
                 {R"({"a":1,"b":2})"}, {R"({"c":1})"});
}

TEST_CASE("JSON schema: numbers of properties", "[constraint][quick]") {
    check_schema(R"({"properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}},
                     "minProperties":2,"maxProperties":2})",
                 {R"({"a":1,"b":2})", R"({"a":1,"c":3})", R"({"b":2,"c":3})"},
                 {"{}", R"({"a":1})", R"({"a":1,"b":2,"c":3})"});
    check_schema(R"({"properties":{"a":{"const":1},"b":{"const":2}},"minProperties":1})",
                 {R"({"a":1})", R"({"b":2})"}, {"{}"});
    check_schema(R"({"type":"object","maxProperties":2})", {"{}", R"({"a":1,"b":1})"},
                 {R"({"a":1,"b":1,"c":1})"});
    check_schema(R"({"type":"object","minProperties":1})", {R"({"a":1})"}, {"{}"});
    check_schema(R"({"properties":{"a":{"const":1}},"additionalProperties":{"const":0},
                     "maxProperties":2})",
                 {R"({"a":1,"x":0})", R"({"x":0,"y":0})", "{}"},
                 {R"({"a":1,"x":0,"y":0})", R"({"x":0,"y":0,"z":0})"});
    check_refused(R"({"type":"object","minProperties":2})", "\"minProperties\"");
}

TEST_CASE("JSON schema: arrays", "[constraint][quick]") {
    check_schema(R"({"type":"array","items":{"type":"integer"}})", {"[]", "[1]", "[1, 2,3]"},
                 {"[\"a\"]", "[1,]", "[1 2]"});
    check_schema(R"({"items":{"const":1},"minItems":2,"maxItems":3})", {"[1,1]", "[1,1,1]"},
                 {"[]", "[1]", "[1,1,1,1]"});
    check_schema(R"({"items":{"const":1},"maxItems":0})", {"[]"}, {"[1]"});
    check_schema(R"({"items":{"const":1},"minItems":1,"maxItems":1})", {"[1]"}, {"[]", "[1,1]"});
    check_schema(R"({"prefixItems":[{"const":1},{"const":2}]})", {"[]", "[1]", "[1,2]"},
                 {"[2]", "[1,2,3]"});
    check_schema(R"({"prefixItems":[{"const":1},{"const":2}],"items":{"const":3},"minItems":2,
                     "maxItems":4})",
                 {"[1,2]", "[1,2,3]", "[1,2,3,3]"}, {"[1]", "[]", "[1,2,3,3,3]", "[1,3]"});
    check_schema(R"({"prefixItems":[{"const":1},{"const":2}],"items":false})", {"[1,2]"},
                 {"[1,2,3]"});
    check_schema(R"({"prefixItems":[{"const":1}],"minItems":2})", {"[1,null]", "[1,\"x\",2]"},
                 {"[1]", "[2,1]"});
    check_schema(R"({"prefixItems":[{"const":1},{"const":2}],"maxItems":1})", {"[]", "[1]"},
                 {"[1,2]"});
    check_schema(R"({"items":[{"const":1},{"const":2}],"additionalItems":{"const":3}})",
                 {"[1,2,3]"}, {"[1,3]"});
    check_schema(R"({"items":{"enum":["a","b","c"]},"uniqueItems":true})",
                 {"[]", R"(["a","c"])", R"(["b"])", R"(["a","b","c"])"},
                 {R"(["a","a"])", R"(["a",])"});
    check_schema(R"({"items":{"enum":["a","b","c"]},"uniqueItems":true,"minItems":2,"maxItems":2})",
                 {R"(["a","b"])", R"(["b","c"])"}, {"[]", R"(["a"])", R"(["a","b","c"])"});
    check_schema(R"({"items":{"type":"string"},"uniqueItems":true,"maxItems":1})",
                 {"[]", R"(["q"])"}, {R"(["q","r"])"});
    check_schema(R"({"items":false})", {"[]"}, {"[1]"});
    check_refused(R"({"items":{"type":"string"},"uniqueItems":true})", "\"uniqueItems\"");
    CHECK(schema_error(R"({"items":{"type":"null"},"minItems":10,"maxItems":1000})").empty());
}

TEST_CASE("JSON schema: strings", "[constraint][quick]") {
    check_schema(
        R"({"type":"string","minLength":2,"maxLength":3})",
        {R"("ab")", R"("abc")", "\"\xE4\xB8\xAD\xC3\xA9\"", R"("\n\u00e9x")", R"("\ud83d\ude00a")"},
        {R"("a")", R"("abcd")", "\"\xE4\xB8\xAD\""});
    check_schema(R"({"type":"string","pattern":"^[a-z]+\\d{2}$"})", {R"("ab12")"},
                 {R"("12")", R"("ab1")", R"("ab123")"});
    check_schema(R"({"type":"string","pattern":"b+"})", {R"("b")", R"("abbc")", R"("\"b")"},
                 {R"("ac")", R"("")"});
    check_schema(R"({"type":"string","pattern":"^\"\\\\$"})", {R"("\"\\")"}, {R"(""\\")"});
    check_schema(R"({"type":"string","pattern":"^(ab)+$","minLength":3,"maxLength":5})",
                 {R"("abab")"}, {R"("ab")", R"("ababab")"});
    check_schema(R"({"allOf":[{"pattern":"^a"},{"pattern":"z$"}],"type":"string"})",
                 {R"("az")", R"("abz")"}, {R"("a")", R"("z")", R"("za")"});
    check_schema(R"({"type":"string","format":"date"})",
                 {R"("2024-02-29")", R"("1999-12-31")", R"("2000-02-29")"},
                 {R"("2023-02-29")", R"("1900-02-29")", R"("2024-13-01")", R"("2024-04-31")",
                  R"("0000-01-01")"});
    check_schema(R"({"format":"date-time"})",
                 {R"("2024-01-02T03:04:05Z")", R"("2024-01-02T23:59:59.25+01:00")"},
                 {R"("2024-01-02 03:04:05Z")", R"("2024-01-02T24:00:00Z")"});
    check_schema(R"({"format":"uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"},
                 {R"("123e4567e89b12d3a456426614174000")"});
    check_schema(R"({"format":"ipv4"})", {R"("255.0.10.1")"}, {R"("256.0.0.1")", R"("1.2.3")"});
    check_schema(R"({"format":"email"})", {R"("a.b@example.org")"}, {R"("a@")", R"("@b.c")"});
    check_schema(R"({"format":"time"})", {R"("12:00:00Z")"}, {R"("25:00:00Z")"});
    check_schema(R"({"format":"uri"})", {R"("https://a.example/x?y=1#z")"}, {R"("nothing")"});
    check_schema(R"({"type":"string","format":"date","maxLength":10})", {R"("2024-02-29")"}, {});
    check_refused(R"({"format":"color"})", "the format \"color\" is not supported (#/format)");
    check_refused(R"x({"type":"string","pattern":"(?=a)"})x", "(#/pattern, pattern, line 1");
}

TEST_CASE("JSON schema: integers between bounds", "[constraint][quick]") {
    struct Case {
        const char* schema;
        int min, max;
    };
    for (const Case& one :
         {Case{R"({"type":"integer","minimum":0,"maximum":9})", 0, 9},
          Case{R"({"type":"integer","minimum":7,"maximum":123})", 7, 123},
          Case{R"({"type":"integer","minimum":-13,"maximum":105})", -13, 105},
          Case{R"({"type":"integer","minimum":-205,"maximum":-19})", -205, -19},
          Case{R"({"type":"integer","exclusiveMinimum":10,
                                     "exclusiveMaximum":12})",
               11, 11},
          Case{R"({"type":"integer","minimum":-0.5,"maximum":99.99})", 0, 99},
          Case{R"({"type":"integer","minimum":-20.5,"exclusiveMaximum":1.5})", -20, 1},
          Case{R"({"type":"integer","minimum":100})", 100, 1000000},
          Case{R"({"type":"integer","maximum":-100})", -1000000, -100},
          Case{R"({"type":"integer","exclusiveMinimum":0})", 1, 1000000},
          Case{R"({"type":"integer","minimum":5,"maximum":1e3})", 5, 1000},
          Case{R"({"type":"integer","exclusiveMinimum":-1,"maximum":0})", 0, 0}}) {
        auto constraint = must_make(schema_spec(one.schema), mixed_vocabulary());
        for (int value = -1200; value <= 1200; ++value) {
            INFO(one.schema << " " << value);
            REQUIRE(accepts(*constraint, std::to_string(value)) ==
                    (value >= one.min && value <= one.max));
        }
        CHECK_FALSE(accepts(*constraint, "-0"));
        CHECK_FALSE(accepts(*constraint, "007"));
        CHECK_FALSE(accepts(*constraint, ""));
    }
    check_schema(R"({"type":"integer","minimum":123456789012345678})",
                 {"123456789012345678", "123456789012345679", "1000000000000000000"},
                 {"123456789012345677", "99999"});
    check_schema(R"({"type":"integer","format":"int32"})", {"2147483647", "-2147483648"},
                 {"2147483648", "-2147483649"});
    check_refused(R"({"type":"integer","minimum":5,"maximum":4})", "no text can match");
}

TEST_CASE("JSON schema: decimals between bounds", "[constraint][quick]") {
    struct Case {
        const char* schema;
        double min, max;
        bool min_excluded, max_excluded;
    };
    for (const Case& one :
         {Case{R"({"type":"number","minimum":0,"maximum":1})", 0, 1, false, false},
          Case{R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1})", 0, 1, true, true},
          Case{R"({"type":"number","minimum":-1.25,"maximum":2.5})", -1.25, 2.5, false, false},
          Case{R"({"type":"number","exclusiveMinimum":-1.25,"exclusiveMaximum":2.5})", -1.25, 2.5,
               true, true},
          Case{R"({"type":"number","minimum":0.25,"maximum":0.75})", 0.25, 0.75, false, false},
          Case{R"({"type":"number","minimum":-3.5,"exclusiveMaximum":-0.25})", -3.5, -0.25, false,
               true},
          Case{R"({"type":"number","minimum":1.5})", 1.5, 1e300, false, false},
          Case{R"({"type":"number","maximum":-2})", -1e300, -2, false, false},
          Case{R"({"type":"number","exclusiveMaximum":0})", -1e300, 0, false, true}}) {
        auto constraint = must_make(schema_spec(one.schema), mixed_vocabulary());
        // Quarters are exact in binary.
        for (int quarters = -20; quarters <= 20; ++quarters) {
            const double value = quarters / 4.0;
            std::string text = std::to_string(value);  // Six digits.
            const bool is_valid = (one.min_excluded ? value > one.min : value >= one.min) &&
                                  (one.max_excluded ? value < one.max : value <= one.max);
            INFO(one.schema << " " << text);
            REQUIRE(accepts(*constraint, text) == is_valid);
            text.erase(text.find_last_not_of('0') + 1);
            if (text.back() == '.') text.pop_back();
            INFO(text);
            REQUIRE(accepts(*constraint, text) == is_valid);
        }
    }
    check_schema(R"({"type":"number","minimum":0.1,"maximum":0.3})", {"0.1", "0.25", "0.30"},
                 {"0.09", "0.31", "0", "0.3000001", "1e-1"});
}

TEST_CASE("JSON schema: multiples", "[constraint][quick]") {
    for (const auto& [schema, step, min, max] :
         {std::tuple{R"({"type":"integer","multipleOf":7})", 7, -100000, 100000},
          std::tuple{R"({"type":"integer","multipleOf":5,"minimum":0})", 5, 0, 100000},
          std::tuple{R"({"type":"integer","multipleOf":10,"exclusiveMinimum":0})", 10, 1, 100000},
          std::tuple{R"({"type":"number","multipleOf":3,"minimum":-10,"maximum":20})", 3, -10,
                     20}}) {
        auto constraint = must_make(schema_spec(schema), mixed_vocabulary());
        for (int value = -300; value <= 300; ++value) {
            INFO(schema << " " << value);
            REQUIRE(accepts(*constraint, std::to_string(value)) ==
                    (value % step == 0 && value >= min && value <= max));
        }
    }
    check_refused(R"({"type":"number","multipleOf":0.01})", "\"multipleOf\" of a fraction");
    check_refused(R"({"type":"integer","multipleOf":3,"maximum":10})", "\"multipleOf\" with a max");
    check_refused(R"({"type":"integer","multipleOf":0})", "a bad \"multipleOf\"");
}

TEST_CASE("JSON schema: enum and const", "[constraint][quick]") {
    check_schema(R"({"enum":["a",1,null,true,{"x":[1]},"a\"b"]})",
                 {R"("a")", "1", "null", "true", R"({"x":[1]})", R"("a\"b")"},
                 {R"("b")", "2", "false", "{}"});
    check_schema(R"({"const":"x"})", {R"("x")"}, {R"("y")", "x"});
    check_schema(R"({"enum":["a","b",1,2],"type":"string"})", {R"("a")", R"("b")"}, {"1", "2"});
    check_schema(R"({"enum":[1,2.5,7,-3],"minimum":2,"type":"number"})", {"2.5", "7"}, {"1", "-3"});
    check_schema(R"({"enum":["a","ab","abc"],"minLength":2,"pattern":"b$"})", {R"("ab")"},
                 {R"("a")", R"("abc")"});
    check_schema(R"({"allOf":[{"enum":[1,2,3]},{"enum":[3.0,2,9]}]})", {"2", "3"}, {"1", "9"});
    check_refused(R"({"enum":[]})", "no text can match");
    check_refused(R"({"enum":[{"a":1}],"required":["a"]})", "beside listed objects");
}

TEST_CASE("JSON schema: allOf, anyOf, oneOf", "[constraint][quick]") {
    check_schema(R"({"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},
                              {"properties":{"a":{"minimum":5},"b":{"const":1}}}]})",
                 {R"({"a":5})", R"({"a":6,"b":1})"}, {R"({"a":4})", R"({"b":1})"});
    check_schema(R"({"anyOf":[{"type":"string"},{"type":"integer"}]})", {R"("a")", "1"},
                 {"1.5", "null"});
    check_schema(R"({"type":"object","properties":{"k":{"const":0}},"required":["k"],
                     "anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},
                              {"properties":{"b":{"const":2}},"required":["b"]}]})",
                 {R"({"k":0,"a":1})", R"({"k":0,"b":2})"}, {R"({"k":0})", R"({"a":1})"});
    check_schema(R"({"oneOf":[{"type":"integer"},{"type":"string"}]})", {"1", R"("a")"}, {"null"});
    check_schema(R"({"oneOf":[
        {"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},
         "required":["kind","x"]},
        {"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}]})",
                 {R"({"kind":"a","x":1})", R"({"kind":"b"})"},
                 {R"({"kind":"a"})", R"({"kind":"b","x":1})", R"({"kind":"c"})"});
    check_schema(R"({"oneOf":[{"properties":{"a":{"const":1}},"required":["a"]},
                              {"properties":{"b":{"const":1}},"required":["b"]}]})",
                 {R"({"a":1})", R"({"b":1})"}, {"{}", R"({"a":1,"b":1})"});
    check_schema(R"({"oneOf":[{"const":1},{"const":2}]})", {"1", "2"}, {"3"});
    check_refused(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})",
                  "\"oneOf\" whose branches 0 and 1 may both match is not supported (#/oneOf)");
    check_refused(R"({"oneOf":[{"const":1},{"type":"string"},{"minimum":3}]})", "branches 0 and 2");
    check_refused(R"({"anyOf":[]})", "a bad \"anyOf\"");
}

TEST_CASE("JSON schema: references", "[constraint][quick]") {
    check_schema(R"({"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/$defs/n"}})", {"[1,2]"},
                 {"[\"a\"]"});
    check_schema(R"({"$ref":"#/definitions/a~1b%25c","definitions":{"a/b%c":{"const":4}}})", {"4"},
                 {"5"});
    check_schema(R"({"$ref":"#here","$defs":{"x":{"$anchor":"here","const":4}}})", {"4"}, {"5"});
    check_schema(R"({"properties":{"v":{"type":"integer"},"next":{"$ref":"#"}},"required":["v"]})",
                 {R"({"v":1})", R"({"v":1,"next":{"v":2,"next":{"v":3}}})"},
                 {R"({"v":1,"next":{}})"});
    check_schema(R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"array",
                     "items":{"$ref":"#/$defs/tree"}}}})",
                 {"[]", "[[],[[]]]"}, {"[1]"});
    check_schema(R"({"$ref":"#/$defs/a","minimum":5,"$defs":{"a":{"type":"integer"}}})",
                 {"5", "60"}, {"4", "5.5"});
    check_schema(R"({"anyOf":[{"$ref":"#/$defs/leaf"},{"type":"array","items":{"$ref":"#"}}],
                     "$defs":{"leaf":{"const":0}}})",
                 {"0", "[0,[0]]"}, {"1"});
    check_refused(R"({"$ref":"#"})", "a reference leads back to itself (#)");
    check_refused(R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},
                      "b":{"allOf":[{"$ref":"#/$defs/a"}]}}})",
                  "a reference leads back to itself");
    check_refused(R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})",
                  "a reference leads back to itself");
    check_refused(R"({"allOf":[{"anyOf":[{"$ref":"#"},{"type":"null"}]}]})",
                  "a reference leads back to itself");
    check_refused(R"({"properties":{"next":{"$ref":"#"}},"required":["next"]})",
                  "no text can match");
    check_refused(R"({"$ref":"#/nope"})", "nothing is found at the reference \"#/nope\"");
    check_refused(R"({"$ref":"other.json"})", "a reference to another document");
    check_refused(R"({"$ref":"#other"})", "nothing is found");
}

TEST_CASE("JSON schema: what would change validity is refused by name", "[constraint][quick]") {
    for (const char* keyword :
         {"not", "if", "dependentSchemas", "dependentRequired", "dependencies", "contains",
          "minContains", "maxContains", "$dynamicRef", "nullable"}) {
        check_refused(R"({"properties":{"a":{")" + std::string(keyword) + R"(":{}}}})",
                      "keyword \"" + std::string(keyword) + "\" is not supported (#/properties/a/" +
                          keyword + ")");
    }
    check_refused(R"({"unevaluatedProperties":{"type":"null"}})", "\"unevaluatedProperties\"");
    check_refused(R"({"unevaluatedItems":{"type":"null"},"type":"array"})", "\"unevaluatedItems\"");
    check_refused(R"({"items":{"$id":"http://x"}})",
                  "keyword \"$id\" is not supported (#/items/$id)");
    // Annotations are fine.
    check_schema(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"http://x",
                     "title":"t","description":"d","default":1,"examples":[1],"deprecated":true,
                     "readOnly":true,"$comment":"c","x-own":1,"nullable":false,"const":1})",
                 {"1"}, {"2"});
}

TEST_CASE("JSON schema: malformed schemas are refused with their place", "[constraint][quick]") {
    check_refused("", "not valid JSON");
    check_refused("{", "not valid JSON");
    check_refused("[]", "the schema is no object");
    check_refused("7", "the schema is no object");
    check_refused(R"({"type":"strin"})", "unknown type \"strin\" (#/type)");
    check_refused(R"({"type":[7]})", "unknown type 7");
    check_refused(R"({"properties":[]})", "a bad \"properties\" (#/properties)");
    check_refused(R"({"properties":{"a":1}})", "not a schema (#/properties/a)");
    check_refused(R"({"properties":{"a/b":{"minLength":-1,"type":"string"}}})",
                  "a bad \"minLength\" (#/properties/a~1b/minLength)");
    check_refused(R"({"required":"a"})", "a bad \"required\"");
    check_refused(R"({"required":[1]})", "a bad \"required\"");
    check_refused(R"({"items":3})", "not a schema (#/items)");
    check_refused(R"({"prefixItems":{}})", "a bad \"prefixItems\"");
    check_refused(R"({"minItems":1.5,"type":"array"})", "a bad \"minItems\"");
    check_refused(R"({"minimum":"1","type":"number"})", "a bad \"minimum\"");
    check_refused(R"({"exclusiveMinimum":true,"type":"number"})", "a bad \"exclusiveMinimum\"");
    check_refused(R"({"minimum":1e300,"type":"number"})", "\"minimum\" of 1e+300");
    check_refused(R"({"pattern":1,"type":"string"})", "a bad \"pattern\"");
    check_refused(R"({"allOf":{}})", "a bad \"allOf\"");
    check_refused(R"({"enum":1})", "a bad \"enum\"");
    check_refused(R"({"$ref":1})", "a bad \"$ref\"");
    check_refused("false", "no text can match");
}

TEST_CASE("JSON schema: deep and large schemas", "[constraint][quick]") {
    const auto nested = [](size_t levels) {  // Two JSON levels each, and one more inside.
        std::string text = R"({"type":"null"})";
        for (size_t i = 0; i < levels; ++i) text = R"({"type":"array","items":)" + text + "}";
        return text;
    };
    CHECK(schema_error(nested(499)).empty());
    check_refused(nested(500), "nested too deeply (501 levels): expected at most 500");
    check_refused(nested(5000), "nested too deeply (5001 levels)");
    check_refused(std::string(200'000, '['), "nested too deeply");
    check_refused(std::string(200'000, '{'), "nested too deeply");
    std::string chain = R"({"$ref":"#/$defs/d0","$defs":{"d5000":{"const":1})";
    for (int i = 0; i < 5000; ++i)
        chain += R"(,"d)" + std::to_string(i) + R"(":{"$ref":"#/$defs/d)" + std::to_string(i + 1) +
                 "\"}";
    check_schema(chain + "}}", {"1"}, {"2"});
    std::string many = R"({"enum":[0)";
    for (int i = 1; i < 100'000; ++i) many += "," + std::to_string(i);
    check_schema(many + "]}", {"99999", "0"}, {"100000"});
    const auto members = [](int count) {
        std::string text = R"({"const":1,"$defs":{"a":0)";
        for (int i = 1; i < count; ++i) text += ",\"" + std::to_string(i) + "\":0";
        return text + "}}";
    };
    CHECK(schema_error(members(10'000)).empty());
    check_refused(members(10'001), "too many members (10001 members): expected at most 10000");
    CHECK(schema_error("{\"const\":1}" + std::string((1u << 20) - 11, ' ')).empty());
    check_refused("{\"const\":1}" + std::string((1u << 20) - 10, ' '), "the schema is too long");
    // Each of 20 anyOf doubles the combinations.
    std::string product = R"({"allOf":[)";
    for (int i = 0; i < 20; ++i) {
        if (i > 0) product += ",";
        product += R"({"anyOf":[{"minimum":)" + std::to_string(i) + R"(},{"maximum":)" +
                   std::to_string(100 - i) + "}]}";
    }
    check_refused(product + R"(],"type":"integer"})", "the schema is too large");
    // Many parts times many branches.
    const auto list_of = [](const std::string& item, size_t count) {
        std::string text = "[" + item;
        for (size_t i = 1; i < count; ++i) text += "," + item;
        return text + "]";
    };
    check_refused(R"({"type":"integer","allOf":)" + list_of(R"({"minimum":1})", 20'000) +
                      R"(,"anyOf":)" + list_of(R"({"maximum":9})", 20'000) + "}",
                  "the schema is too large");
    const auto one_of = [](int count) {
        std::string text = R"({"oneOf":[{"const":0})";
        for (int i = 1; i < count; ++i) text += R"(,{"const":)" + std::to_string(i) + "}";
        return text + "]}";
    };
    check_schema(one_of(500), {"0", "499"}, {"500"});
    check_refused(one_of(501), "501 branches (#/oneOf): expected at most 500");
    // Long names, deeply nested, above many schemas: paths stay short.
    std::string long_paths = R"({"enum":)" + list_of("{}", 100'000) + "}";
    for (int i = 0; i < 240; ++i)
        long_paths = R"({"properties":{")" + std::string(2500, 'n') + "\":" + long_paths + "}}";
    CHECK(schema_error(long_paths).empty());
    std::string wide = R"({"type":"object","properties":{)";
    for (int i = 0; i < 2000; ++i)
        wide += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"integer"})";
    check_schema(wide + "}}", {R"({"p0":1,"p1999":2})"}, {R"({"p1999":1,"p0":2})"});
}

TEST_CASE("JSON schema: lengths hold at their limits", "[constraint][quick]") {
    for (const size_t max :
         {size_t{0}, size_t{1}, size_t{1999}, size_t{2000}, size_t{2001}, size_t{10'000}}) {
        auto constraint =
            must_make(schema_spec(R"({"type":"string","maxLength":)" + std::to_string(max) + "}"),
                      mixed_vocabulary());
        INFO(max);
        CHECK(accepts(*constraint, "\"" + std::string(max, 'q') + "\""));
        CHECK_FALSE(accepts_beginning(*constraint, "\"" + std::string(max + 1, 'q')));
    }
    for (const char* huge : {"2147483647", "2147483648", "4294967296", "1e30"})
        check_schema(R"({"type":"string","maxLength":)" + std::string(huge) + "}", {"\"abc\""}, {});
    check_refused(R"({"type":"string","minLength":2147483648})", "a large \"minLength\"");
    check_refused(R"({"type":"string","minLength":3,"maxLength":2})", "no text can match");
    // With a pattern, lengths are written out; too long ones are refused, not dropped.
    check_schema(R"({"type":"string","pattern":"^[ab]*$","maxLength":1000})", {"\"ab\""},
                 {"\"c\""});
    check_refused(R"({"type":"string","pattern":"^[ab]*$","maxLength":50000})",
                  "a combination of patterns and lengths is too large (#/pattern)");
    auto items = must_make(schema_spec(R"({"items":{"const":1},"minItems":10,"maxItems":1000})"),
                           mixed_vocabulary());
    const auto list = [](size_t num_items) {
        std::string text = "[1";
        for (size_t i = 1; i < num_items; ++i) text += ",1";
        return text + "]";
    };
    CHECK_FALSE(accepts(*items, list(9)));
    CHECK(accepts(*items, list(10)));
    CHECK(accepts(*items, list(1000)));
    CHECK_FALSE(accepts(*items, list(1001)));
}

TEST_CASE("JSON schema: what no text can satisfy is said, with its place", "[constraint][quick]") {
    check_refused("false", "# is false and allows nothing");
    check_refused(R"({"type": "number", "minimum": 5, "maximum": 3})", "#/minimum leaves nothing");
    check_refused(R"({"type": "integer", "minimum": 1.2, "maximum": 1.8})", "#/minimum leaves");
    check_refused(R"({"type": "string", "minLength": 5, "maxLength": 3})",
                  "#/minLength is above the maxLength");
    check_refused(R"({"type": "string", "pattern": "^a$", "minLength": 2})",
                  "leaves no string that fits the rest");
    check_refused(R"({"enum": []})", "#/enum lists no value");
    check_refused(R"({"enum": [1, 2], "type": "string"})", "#/enum lists no value");
    check_refused(R"({"allOf": [{"type": "string"}, {"type": "number"}]})",
                  "#/allOf/1/type excludes every type");
    check_refused(R"({"allOf": [{"const": 1}, {"const": 2}]})", "const lists no value");
    check_refused(R"({"type": "object", "properties": {"a": {}}, "required": ["b"],
                      "additionalProperties": false})",
                  "#/additionalProperties does not allow the required property");
    check_refused(R"({"type": "object", "properties": {"a": false}, "required": ["a"]})",
                  "#/properties/a is false");
    check_refused(R"({"type": "array", "minItems": 3, "maxItems": 1})",
                  "#/minItems is above the number");
}

TEST_CASE("JSON schema: digits that cannot be kept are refused", "[constraint][quick]") {
    for (const char* number : {"123456789012345678901234567890", "-9223372036854775809",
                               "18446744073709551616", "0.12345678901234567890123"}) {
        check_refused(std::string("{\"const\": ") + number + "}", number);
        check_refused(std::string("{\"enum\": [1,\n ") + number + "]}", "line 2, column 2");
    }
    check_schema(R"({"const": 18446744073709551615})", {"18446744073709551615"}, {});
    check_schema(R"({"const": -9223372036854775808})", {"-9223372036854775808"}, {});
    check_schema(R"({"const": "123456789012345678901234567890"})",
                 {"\"123456789012345678901234567890\""}, {});
}

TEST_CASE("JSON schema: keywords that are misspelt are refused with the right one",
          "[constraint][quick]") {
    for (const auto& [wrong, right] : {std::pair{"minlength", "minLength"},
                                       {"maxLenght", "maxLength"},
                                       {"require", "required"},
                                       {"item", "items"},
                                       {"additionalProperty", "additionalProperties"},
                                       {"additional_properties", "additionalProperties"},
                                       {"property", "properties"},
                                       {"Type", "type"},
                                       {"anyof", "anyOf"}}) {
        CAPTURE(wrong);
        check_refused(std::string("{\"") + wrong + "\": 1}", std::string("\"") + right + "\"");
    }
    check_schema(R"({"title": "a", "description": "b", "examples": [1], "example": 2,
                       "x-note": 3, "const": 1})",
                 {"1"}, {});
}

TEST_CASE("JSON schema: messages say what may be written instead", "[constraint][quick]") {
    check_refused("{", "line 1, column 2");
    check_refused("{\n  \"type\": strin}", "line 2");
    check_refused(R"({"format": "foo"})", "date-time");
    check_refused(R"({"not": {}})", "enum");
    check_refused(R"({"if": {}})", "anyOf");
}

TEST_CASE("Constraint: a byte order mark before a grammar or a schema is skipped",
          "[constraint][quick]") {
    const auto vocabulary = mixed_vocabulary();
    for (const ConstraintSpec& spec :
         {ConstraintSpec{ConstraintKind::gbnf, "\xEF\xBB\xBFroot ::= \"1\"", {}},
          ConstraintSpec{ConstraintKind::json_schema, "\xEF\xBB\xBF{\"const\": 1}", {}}}) {
        const auto made = make_constraint(spec, vocabulary);
        if (!made.ok()) FAIL(made.error().message());
        CHECK((*made)->matches("1").value());
        CHECK_FALSE((*made)->matches("2").value());
    }
}
