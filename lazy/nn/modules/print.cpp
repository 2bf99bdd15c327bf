// Prints modules as a tree.
#include <ostream>

#include "lazy/nn/modules/module.hpp"

namespace lazy::nn {

namespace {

/// Lists the shapes of a module's own parameters.
struct Own final : Visitor {
  std::string shapes;
  int64_t elements = 0;

 protected:
  void parameter(const std::string& path, Parameter& p) override {
    shapes += (shapes.empty() ? "" : ", ") + path + " " + lazy::to_string(p.shape());
    elements += p.size();
  }
  void child(const std::string&, Module&) override {}
};

/// Writes the lines below a module.
class Tree final : public Visitor {
 public:
  Tree(std::ostream& out, int depth) : out_(out), depth_(depth) {}

  bool empty() const { return empty_; }

 protected:
  void child(const std::string& path, Module& m) override {
    line(path);
    write(out_, m, depth_);
  }
  void open(const std::string& path, const char* kind) override {
    if (std::string_view(kind).substr(0, 6) == "Module") {
      line(path);
      out_ << kind << '(';
      ++depth_;
      opened_.push_back(path.size() + 1);
    } else {
      opened_.push_back(0);
    }
  }
  void close() override {
    const bool shown = opened_.back() != 0;
    opened_.pop_back();
    if (!shown) return;
    --depth_;
    out_ << '\n' << std::string(static_cast<size_t>(2 * depth_), ' ') << ')';
  }

 public:
  /// Writes the module, the members of which are `depth` levels deep.
  static void write(std::ostream& out, Module& m, int depth) {
    Own own;
    own.visit(m);
    Tree below(out, depth + 1);
    const std::string arguments = m.extra_repr();
    out << m.name() << '(' << arguments;
    const std::string note =
        own.elements ? "  # " + own.shapes + ": " + std::to_string(own.elements) : std::string();
    below.note_ = note;
    below.visit(m);
    if (below.empty()) {
      out << ')' << note;
    } else {
      out << '\n' << std::string(static_cast<size_t>(2 * depth), ' ') << ')';
    }
  }

 private:
  void line(const std::string& path) {
    if (empty_) out_ << note_;
    empty_ = false;
    const size_t from = opened_.empty() ? 0 : opened_.back();
    out_ << '\n' << std::string(static_cast<size_t>(2 * depth_), ' ') << '(' << path.substr(from) << "): ";
  }

  std::ostream& out_;
  int depth_;
  bool empty_ = true;
  std::string note_;            // about the module itself, behind its first line
  std::vector<size_t> opened_;  // of each list, where the names of its elements begin; 0 if it is not shown
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Module& m) {
  Tree::write(out, const_cast<Module&>(m), 0);  // which only reads
  const int64_t all = m.num_parameters(), trained = m.num_parameters(true);
  out << "\n# " << all << (all == 1 ? " parameter" : " parameters");
  if (trained != all) out << ", " << trained << " of them trained";
  return out;
}

}  // namespace lazy::nn
